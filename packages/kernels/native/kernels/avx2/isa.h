#pragma once

// The primitives of kernels/portable/isa.h in AVX2, FMA and F16C. Results are the same bits. Only the
// .cc files of this folder may include it: they are compiled with flags that other files must not have.

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"

namespace hearth {

/// The window of 8 that starts at 8 - n has -1 in its first n lanes.
alignas(32) static const int32_t kAvx2MaskWindow[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct Avx2 {
  using Tile = Avx2;
  using Wide = Avx2;
  static constexpr int kVectorTiles = 1;
  static constexpr bool kHasWideDots = false;
  static constexpr bool kHasSignedDots = false;
  static constexpr bool kHasMatrixProducts = false;
  /// One token: 8 tiles are eight streams of weights, of which hardware fetches more ahead than of four: 1.26 times as fast
  /// from memory on Zen 4, though registers spill. f16 reads as fast with four, q6_k does not gain.
  /// More: 2 x 4 accumulators, their weights and an activation fill the 16 registers; 1 x 4 is 15-20% slower. Products with
  /// floats have no integer sums beside their accumulators: 2 x 6 is 10% faster there than 2 x 4.
  static constexpr int kDecodeVectors = 8;
  static constexpr int kFewDecodeVectors = 4;
  static constexpr int kVectors = 2;
  static constexpr int kTokens = 4;
  static constexpr int kFloatVectors = 2;
  static constexpr int kFloatTokens = 6;
  /// Attention (generic/attention_rows.h): 12 sums, up to three rows and a key or value vector fill the registers.
  static constexpr int kAttentionSums = 12;
  static constexpr int kAttentionDecodeRows = 4;
  static constexpr int kAttentionPrefillRows = 3;
  /// Rows up to which a tile is read where it is.
  static constexpr int kAttentionDirectRows = 16;

  using F8 = __m256;
  using M8 = __m256;
  using I8 = __m256i;
  using Codes = __m256i;
  using FourCodes = __m256i;
  /// 16 lanes of int16: lanes 2r and 2r + 1 belong to row r.
  using Dots = __m256i;
  using RowScales = __m256i;

  static HEARTH_INLINE F8 zero() { return _mm256_setzero_ps(); }
  static HEARTH_INLINE F8 broadcast(float x) { return _mm256_set1_ps(x); }
  static HEARTH_INLINE F8 load(const float* from) { return _mm256_loadu_ps(from); }
  static HEARTH_INLINE void store(float* to, F8 x) { _mm256_storeu_ps(to, x); }
  /// The first n lanes, 0 <= n <= 8.
  static HEARTH_INLINE __m256i partial_mask(int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kAvx2MaskWindow + 8 - n));
  }
  static HEARTH_INLINE F8 load_partial(const float* from, int64_t n) { return _mm256_maskload_ps(from, partial_mask(n)); }
  static HEARTH_INLINE void store_partial(float* to, F8 x, int64_t n) { _mm256_maskstore_ps(to, partial_mask(n), x); }
  static HEARTH_INLINE F8 add(F8 a, F8 b) { return _mm256_add_ps(a, b); }
  static HEARTH_INLINE F8 sub(F8 a, F8 b) { return _mm256_sub_ps(a, b); }
  static HEARTH_INLINE F8 mul(F8 a, F8 b) { return _mm256_mul_ps(a, b); }
  static HEARTH_INLINE F8 div(F8 a, F8 b) { return _mm256_div_ps(a, b); }
  static HEARTH_INLINE F8 fma(F8 a, F8 b, F8 c) { return _mm256_fmadd_ps(a, b, c); }
  static HEARTH_INLINE float fma(float a, float b, float c) {
    return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
  }
  static HEARTH_INLINE F8 max(F8 a, F8 b) { return _mm256_max_ps(a, b); }
  static HEARTH_INLINE F8 negate(F8 a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
  static HEARTH_INLINE F8 abs(F8 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }

  static HEARTH_INLINE M8 less(F8 a, F8 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static HEARTH_INLINE M8 lanes_between(int32_t first, int32_t last) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i from_first = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(first - 1));
    const __m256i below_last = _mm256_cmpgt_epi32(_mm256_set1_epi32(last), lane);
    return _mm256_castsi256_ps(_mm256_and_si256(from_first, below_last));
  }
  static HEARTH_INLINE F8 select(M8 condition, F8 yes, F8 no) { return _mm256_blendv_ps(no, yes, condition); }
  static HEARTH_INLINE int first_equal(F8 a, F8 b) {
    const int equal = _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
    int lane = 0;
    while (lane < 8 && (equal >> lane & 1) == 0) ++lane;
    return lane;
  }

  static HEARTH_INLINE float tree_sum(F8 x) {
    const __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 t = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
  }
  static HEARTH_INLINE float max_lane(F8 x) {
    const __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 t = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(t, _mm_movehdup_ps(t)));
  }

  static HEARTH_INLINE F8 taint(F8 t, F8 x) { return _mm256_fmadd_ps(x, _mm256_setzero_ps(), t); }
  static HEARTH_INLINE bool is_clean(F8 t) {
    return _mm256_movemask_ps(_mm256_cmp_ps(t, _mm256_setzero_ps(), _CMP_EQ_OQ)) == 255;
  }

  static HEARTH_INLINE F8 power_of_two(F8 t) {
    const __m256i magic = _mm256_castps_si256(_mm256_set1_ps(12582912.0f));
    const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(t), magic);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }

  static HEARTH_INLINE F8 load(const uint16_t* from_f16) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from_f16)));
  }
  static HEARTH_INLINE F8 load(const int8_t* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  static HEARTH_INLINE F8 load_bf16(const uint16_t* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static HEARTH_INLINE void store(uint16_t* to_f16, F8 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to_f16), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static HEARTH_INLINE void store(int8_t* to, F8 x) {
    const __m256i integers = _mm256_cvtps_epi32(x);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
  }

  static HEARTH_INLINE F8 to_float(I8 x) { return _mm256_cvtepi32_ps(x); }
  static HEARTH_INLINE I8 zero_integers() { return _mm256_setzero_si256(); }
  static HEARTH_INLINE I8 add(I8 a, I8 b) { return _mm256_add_epi32(a, b); }
  static HEARTH_INLINE I8 subtract(I8 a, I8 b) { return _mm256_sub_epi32(a, b); }
  static HEARTH_INLINE F8 small_integers(uint64_t bytes) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes))));
  }
  static HEARTH_INLINE Codes load_codes(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static HEARTH_INLINE Codes bits(Codes c, int shift, int mask) {
    const __m256i moved = shift > 0 ? _mm256_srli_epi16(c, shift) : shift < 0 ? _mm256_slli_epi16(c, -shift) : c;
    return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(mask)));
  }
  static HEARTH_INLINE Codes either(Codes a, Codes b) { return _mm256_or_si256(a, b); }
  static HEARTH_INLINE Codes look_up(const int8_t (&table)[16], Codes indices) {
    const __m128i values = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), indices);
  }
  static HEARTH_INLINE FourCodes broadcast_codes(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm256_set1_epi32(four);
  }
  static HEARTH_INLINE RowScales row_scales(uint64_t bytes) {
    const __m128i rows = _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
    return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(rows, rows));
  }
  static HEARTH_INLINE RowScales load_row_scales(const uint16_t* from) {
    const __m256i rows = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm256_or_si256(rows, _mm256_slli_epi32(rows, 16));
  }
  static HEARTH_INLINE Dots no_dots() { return _mm256_setzero_si256(); }
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return _mm256_set1_epi32(x.offset); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return _mm256_set1_epi32(x.upper_offset); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) { return _mm256_sub_epi16(offsets(x), upper_offsets(x)); }
  static HEARTH_INLINE Dots shifted(Dots d, int shift) {
    return shift > 0 ? _mm256_slli_epi16(d, shift) : shift < 0 ? _mm256_srai_epi16(d, -shift) : d;
  }
  static HEARTH_INLINE Dots times(Dots d, RowScales scales) { return _mm256_mullo_epi16(d, scales); }
  static HEARTH_INLINE Dots dot(Dots d, Codes codes, FourCodes x) {
    return pinned(_mm256_add_epi16(d, _mm256_maddubs_epi16(codes, x)));
  }
  static HEARTH_INLINE I8 total(Dots d) { return _mm256_madd_epi16(d, _mm256_set1_epi16(1)); }
  static HEARTH_INLINE I8 total(Dots d, RowScales scales) { return _mm256_madd_epi16(d, scales); }
  static HEARTH_INLINE I8 signed_dot(I8 d, Codes codes, FourCodes x) { return signed_dot(d, codes, x, _mm256_set1_epi16(1)); }
  /// vpmaddubsw wants its first factor unsigned: |w| · (x with the sign of w). |w| is at most 128, so a pair of products
  /// is at most 2 · 128 · 127 = 32,512 and fits, but two of them do not: each pair is widened at once, which multiplies it
  /// by the scale on the way.
  static HEARTH_INLINE I8 signed_dot(I8 d, Codes codes, FourCodes x, RowScales scales) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
    return pinned(_mm256_add_epi32(d, _mm256_madd_epi16(pairs, scales)));
  }

  static HEARTH_INLINE void quantize_block(const float* x, ActivationBlock* out) {
    float scale;
    const __m256i codes = quantized_codes(x, &scale);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out->codes), codes);
    // Sums of neighbours, then of the even and of the odd 16-bit lanes of each half: at most 8 · 127 in magnitude.
    __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
    pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, _MM_SHUFFLE(1, 0, 3, 2)));
    pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, _MM_SHUFFLE(2, 3, 0, 1)));
    const __m128i upper = _mm256_extracti128_si256(pairs, 1);
    const __m128i sums = _mm_add_epi16(_mm256_castsi256_si128(pairs), upper);
    const int32_t sum = _mm_cvtsi128_si32(_mm_madd_epi16(sums, _mm_set1_epi16(1)));
    out->offset = _mm_cvtsi128_si32(_mm_mullo_epi16(sums, _mm_set1_epi16(-8)));
    out->upper_offset = _mm_cvtsi128_si32(_mm_mullo_epi16(upper, _mm_set1_epi16(-8)));
    out->scale = scale;
    out->scaled_sum = static_cast<float>(sum) * scale;
  }

 protected:
  /// The codes and the scale of 32 activations.
  static HEARTH_INLINE __m256i quantized_codes(const float* x, float* scale) {
    const F8 v0 = load(x), v1 = load(x + 8), v2 = load(x + 16), v3 = load(x + 24);
    const float amax = max_lane(max(max(abs(v0), abs(v1)), max(abs(v2), abs(v3))));
    const bool is_zero = amax < 0x1p-120f;
    *scale = is_zero ? 0.0f : amax / 127.0f;
    const F8 inverse = broadcast(is_zero ? 0.0f : 127.0f / amax);
    const __m256i i0 = _mm256_cvtps_epi32(mul(v0, inverse)), i1 = _mm256_cvtps_epi32(mul(v1, inverse));
    const __m256i i2 = _mm256_cvtps_epi32(mul(v2, inverse)), i3 = _mm256_cvtps_epi32(mul(v3, inverse));
    // The packs work within 128-bit halves; the permutation puts the groups of four back in order.
    const __m256i interleaved = _mm256_packs_epi16(_mm256_packs_epi32(i0, i1), _mm256_packs_epi32(i2, i3));
    return _mm256_permutevar8x32_epi32(interleaved, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }

 private:
  /// Keeps x where it was computed. GCC reassociates chains of integer additions into trees, which takes more registers
  /// than a tile of eight accumulators leaves, and spills: 80 instead of 127 G multiply-adds/s on Zen 3.
  static HEARTH_INLINE __m256i pinned(__m256i x) {
#if defined(__GNUC__)
    __asm__("" : "+x"(x));
#endif
    return x;
  }
};

}  // namespace hearth
