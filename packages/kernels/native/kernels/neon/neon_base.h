#pragma once

// What the NEON variants share: the primitives of kernels/portable/isa.h in 128-bit registers, two for a vector, with the dot
// products of ARMv8.2 (sdot). Results are the same bits. Only the .cc files of kernels/neon_*/ may include it: they are
// compiled with flags that other files must not have.
//
// sdot adds four products of signed bytes to a lane of 32 bits. So Dots are one lane for each row, which holds any sum of a
// chunk, and the codes of every format are taken as they are: unsigned ones are below 64.

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"

namespace hearth {

struct NeonBase {
  static constexpr int kVectorTiles = 1;
  static constexpr bool kHasWideDots = true;
  static constexpr bool kHasSignedDots = true;
  // Shapes, for 32 registers of half a vector. One token: 4 vectors keep four streams of weights in flight. More: 1 x 4 float
  // and 1 x 4 integer accumulators are 16 registers, which leaves as many for weights, activations and scales; 2 x 4 would
  // take all. Products with floats have no integers: 2 x 6 is 24. Chosen by that count: they were not measured.
  static constexpr int kDecodeVectors = 4;
  static constexpr int kFewDecodeVectors = 4;
  static constexpr int kVectors = 1;
  static constexpr int kTokens = 4;
  static constexpr int kFloatVectors = 2;
  static constexpr int kFloatTokens = 6;
  /// Attention, as in AVX2: 12 sums are 24 registers, up to four rows and a key or value vector fill the rest.
  static constexpr int kAttentionSums = 12;
  static constexpr int kAttentionDecodeRows = 4;
  static constexpr int kAttentionPrefillRows = 3;
  static constexpr int kAttentionDirectRows = 16;

  // Lanes, or rows, 0 .. 3 and 4 .. 7.
  struct F8 {
    float32x4_t low, high;
  };
  struct M8 {
    uint32x4_t low, high;
  };
  struct I8 {
    int32x4_t low, high;
  };
  /// 4 consecutive k of each row.
  struct Codes {
    uint8x16_t low, high;
  };
  using FourCodes = int8x16_t;
  using Dots = I8;
  using RowScales = I8;

  static HEARTH_INLINE F8 zero() { return broadcast(0.0f); }
  static HEARTH_INLINE F8 broadcast(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
  static HEARTH_INLINE F8 load(const float* from) { return {vld1q_f32(from), vld1q_f32(from + 4)}; }
  static HEARTH_INLINE void store(float* to, F8 x) {
    vst1q_f32(to, x.low);
    vst1q_f32(to + 4, x.high);
  }
  static HEARTH_INLINE F8 load_partial(const float* from, int64_t n) {
    float lanes[8] = {};
    std::memcpy(lanes, from, sizeof(float) * static_cast<std::size_t>(n));
    return load(lanes);
  }
  static HEARTH_INLINE void store_partial(float* to, F8 x, int64_t n) {
    float lanes[8];
    store(lanes, x);
    std::memcpy(to, lanes, sizeof(float) * static_cast<std::size_t>(n));
  }
  static HEARTH_INLINE F8 add(F8 a, F8 b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
  static HEARTH_INLINE F8 sub(F8 a, F8 b) { return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)}; }
  static HEARTH_INLINE F8 mul(F8 a, F8 b) { return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)}; }
  static HEARTH_INLINE F8 div(F8 a, F8 b) { return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)}; }
  static HEARTH_INLINE F8 fma(F8 a, F8 b, F8 c) { return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)}; }
  static HEARTH_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static HEARTH_INLINE F8 max(F8 a, F8 b) { return {vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)}; }
  static HEARTH_INLINE F8 negate(F8 a) { return {vnegq_f32(a.low), vnegq_f32(a.high)}; }
  static HEARTH_INLINE F8 abs(F8 a) { return {vabsq_f32(a.low), vabsq_f32(a.high)}; }

  static HEARTH_INLINE M8 less(F8 a, F8 b) { return {vcltq_f32(a.low, b.low), vcltq_f32(a.high, b.high)}; }
  static HEARTH_INLINE M8 lanes_between(int32_t first, int32_t last) {
    const int32x4_t from = vdupq_n_s32(first), end = vdupq_n_s32(last);
    const int32x4_t low = {0, 1, 2, 3}, high = {4, 5, 6, 7};
    return {vandq_u32(vcgeq_s32(low, from), vcltq_s32(low, end)), vandq_u32(vcgeq_s32(high, from), vcltq_s32(high, end))};
  }
  static HEARTH_INLINE F8 select(M8 condition, F8 yes, F8 no) {
    return {vbslq_f32(condition.low, yes.low, no.low), vbslq_f32(condition.high, yes.high, no.high)};
  }
  static HEARTH_INLINE int first_equal(F8 a, F8 b) {
    const uint16x4_t low = vmovn_u32(vceqq_f32(a.low, b.low)), high = vmovn_u32(vceqq_f32(a.high, b.high));
    // A byte of ones for each equal lane.
    const uint64_t equal = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vcombine_u16(low, high))), 0);
    return equal == 0 ? 8 : __builtin_ctzll(equal) / 8;
  }

  static HEARTH_INLINE float tree_sum(F8 x) {
    const float32x4_t s = vaddq_f32(x.low, x.high);
    const float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vpadds_f32(t);
  }
  static HEARTH_INLINE float max_lane(F8 x) { return vmaxvq_f32(vmaxq_f32(x.low, x.high)); }

  static HEARTH_INLINE F8 taint(F8 t, F8 x) { return fma(x, zero(), t); }
  static HEARTH_INLINE bool is_clean(F8 t) {
    return vminvq_u32(vandq_u32(vceqzq_f32(t.low), vceqzq_f32(t.high))) != 0;
  }

  static HEARTH_INLINE F8 power_of_two(F8 t) { return {power_of_two(t.low), power_of_two(t.high)}; }

  static HEARTH_INLINE F8 load(const uint16_t* from_f16) {
    const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(from_f16));
    return {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
  }
  static HEARTH_INLINE F8 load(const int8_t* from) { return to_float(widened(vld1_s8(from))); }
  static HEARTH_INLINE F8 load_bf16(const uint16_t* from) {
    const uint16x8_t halves = vld1q_u16(from);
    return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(halves), 16)), vreinterpretq_f32_u32(vshll_high_n_u16(halves, 16))};
  }
  static HEARTH_INLINE void store(uint16_t* to_f16, F8 x) {
    vst1q_u16(to_f16, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.low), x.high)));
  }
  static HEARTH_INLINE void store(int8_t* to, F8 x) { vst1_s8(to, rounded(x)); }

  static HEARTH_INLINE F8 to_float(I8 x) { return {vcvtq_f32_s32(x.low), vcvtq_f32_s32(x.high)}; }
  static HEARTH_INLINE I8 zero_integers() { return every_row(0); }
  static HEARTH_INLINE I8 add(I8 a, I8 b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
  static HEARTH_INLINE I8 subtract(I8 a, I8 b) { return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)}; }
  static HEARTH_INLINE F8 small_integers(uint64_t bytes) { return to_float(row_scales(bytes)); }
  static HEARTH_INLINE Codes load_codes(const uint8_t* from) { return {vld1q_u8(from), vld1q_u8(from + 16)}; }
  static HEARTH_INLINE Codes bits(Codes c, int shift, int mask) {
    const uint8x16_t kept = vdupq_n_u8(static_cast<uint8_t>(mask));
    return {vandq_u8(moved(c.low, shift), kept), vandq_u8(moved(c.high, shift), kept)};
  }
  static HEARTH_INLINE Codes either(Codes a, Codes b) { return {vorrq_u8(a.low, b.low), vorrq_u8(a.high, b.high)}; }
  static HEARTH_INLINE Codes look_up(const int8_t (&table)[16], Codes indices) {
    const uint8x16_t values = vreinterpretq_u8_s8(vld1q_s8(table));
    return {vqtbl1q_u8(values, indices.low), vqtbl1q_u8(values, indices.high)};
  }
  static HEARTH_INLINE FourCodes broadcast_codes(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }
  static HEARTH_INLINE RowScales row_scales(uint64_t bytes) { return widened(vcreate_s8(bytes)); }
  static HEARTH_INLINE RowScales load_row_scales(const uint16_t* from) {
    const uint16x8_t rows = vld1q_u16(from);
    return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(rows))), vreinterpretq_s32_u32(vmovl_high_u16(rows))};
  }
  static HEARTH_INLINE Dots no_dots() { return zero_integers(); }
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return every_row(x.offset); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return every_row(x.upper_offset); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) { return every_row(x.offset - x.upper_offset); }
  /// A negative shift goes to the right, keeping the sign.
  static HEARTH_INLINE Dots shifted(Dots d, int shift) {
    return {vshlq_s32(d.low, vdupq_n_s32(shift)), vshlq_s32(d.high, vdupq_n_s32(shift))};
  }
  static HEARTH_INLINE Dots times(Dots d, RowScales scales) { return {vmulq_s32(d.low, scales.low), vmulq_s32(d.high, scales.high)}; }
  static HEARTH_INLINE Dots dot(Dots d, Codes codes, FourCodes x) {
    return {vdotq_s32(d.low, vreinterpretq_s8_u8(codes.low), x), vdotq_s32(d.high, vreinterpretq_s8_u8(codes.high), x)};
  }
  static HEARTH_INLINE I8 total(Dots d) { return d; }
  static HEARTH_INLINE I8 total(Dots d, RowScales scales) { return times(d, scales); }

  static HEARTH_INLINE void quantize_block(const float* x, ActivationBlock* out) {
    const F8 v0 = load(x), v1 = load(x + 8), v2 = load(x + 16), v3 = load(x + 24);
    const float amax = max_lane(max(max(abs(v0), abs(v1)), max(abs(v2), abs(v3))));
    const bool is_zero = amax < 0x1p-120f;
    const float scale = is_zero ? 0.0f : amax / 127.0f;
    const F8 inverse = broadcast(is_zero ? 0.0f : 127.0f / amax);
    const int8x16_t lower = vcombine_s8(rounded(mul(v0, inverse)), rounded(mul(v1, inverse)));
    const int8x16_t upper = vcombine_s8(rounded(mul(v2, inverse)), rounded(mul(v3, inverse)));
    vst1q_s8(out->codes, lower);
    vst1q_s8(out->codes + 16, upper);
    const int32_t upper_sum = vaddlvq_s8(upper);
    const int32_t sum = vaddlvq_s8(lower) + upper_sum;
    out->offset = -8 * sum;
    out->upper_offset = -8 * upper_sum;
    out->scale = scale;
    out->scaled_sum = static_cast<float>(sum) * scale;
  }

 private:
  static HEARTH_INLINE I8 every_row(int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
  /// Every byte shifted to the right, or to the left where shift is negative. Operators, not intrinsics: those take constants
  /// only, which `shift` is not before this is inlined.
  static HEARTH_INLINE uint8x16_t moved(uint8x16_t bytes, int shift) {
    if (shift == 0) return bytes;
    const uint8x16_t by = vdupq_n_u8(static_cast<uint8_t>(shift < 0 ? -shift : shift));
    return shift < 0 ? bytes << by : bytes >> by;
  }
  static HEARTH_INLINE float32x4_t power_of_two(float32x4_t t) {
    const int32x4_t n = vsubq_s32(vreinterpretq_s32_f32(t), vreinterpretq_s32_f32(vdupq_n_f32(12582912.0f)));
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
  }
  static HEARTH_INLINE I8 widened(int8x8_t bytes) {
    const int16x8_t words = vmovl_s8(bytes);
    return {vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words)};
  }
  /// To the nearest integer, halves to even.
  static HEARTH_INLINE int8x8_t rounded(F8 x) {
    return vqmovn_s16(vcombine_s16(vqmovn_s32(vcvtnq_s32_f32(x.low)), vqmovn_s32(vcvtnq_s32_f32(x.high))));
  }
};

}  // namespace hearth
