#pragma once

// One-lane arithmetic of the portable variant. Everything has internal linkage (native/README.md says why).

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"

#if (defined(__x86_64__) || defined(_M_X64)) && !defined(__FMA__)
#define HEARTH_PORTABLE_SSE2
#include <emmintrin.h>
#endif

namespace hearth {
namespace scalar {

static HEARTH_INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static HEARTH_INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static HEARTH_INLINE float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Fused multiply-add without the instruction. The product of two floats is exact in double, so only the sum is rounded
// before the last rounding to float. Rounding twice is harmless unless the double lies halfway between two floats:
// then, and where halfway points sit elsewhere (denormal floats), the library's fma decides. Same bits as the
// instruction; std::fma alone is a call per lane, and slow in software.

/// Whether rounding `sum` to float may differ from rounding the exact value.
static HEARTH_INLINE bool needs_exact_fma(double sum) {
  constexpr uint64_t kDroppedBits = 0x1fffffff;  // 53 - 24 = 29 bits
  constexpr uint64_t kHalfway = 0x10000000;
  constexpr uint64_t kSmallestNormal = 0x3810000000000000;  // 2^-126
  const uint64_t bits = bits_of(sum);
  const uint64_t magnitude = bits & 0x7fffffffffffffff;
  // A zero sum is exact: no product of two floats underflows in double.
  return (bits & kDroppedBits) == kHalfway || (magnitude < kSmallestNormal && magnitude != 0);
}

static HEARTH_INLINE float fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return std::fma(a, b, c);
#else
  const double sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
  return HEARTH_UNLIKELY(needs_exact_fma(sum)) ? std::fma(a, b, c) : static_cast<float>(sum);
#endif
}

#if defined(HEARTH_PORTABLE_SSE2)

/// Four lanes of the above in SSE2, which every x86-64 processor has (compilers do not find it by themselves, and it is two to
/// three times as fast). Returns nonzero when a lane needs std::fma.
static HEARTH_INLINE int fma_four_lanes(const float* a, const float* b, const float* c, float* out) {
  const __m128 a4 = _mm_loadu_ps(a), b4 = _mm_loadu_ps(b), c4 = _mm_loadu_ps(c);
  const __m128d product01 = _mm_mul_pd(_mm_cvtps_pd(a4), _mm_cvtps_pd(b4));
  const __m128d product23 = _mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(a4, a4)), _mm_cvtps_pd(_mm_movehl_ps(b4, b4)));
  const __m128d sum01 = _mm_add_pd(product01, _mm_cvtps_pd(c4));
  const __m128d sum23 = _mm_add_pd(product23, _mm_cvtps_pd(_mm_movehl_ps(c4, c4)));
  _mm_storeu_ps(out, _mm_movelh_ps(_mm_cvtpd_ps(sum01), _mm_cvtpd_ps(sum23)));
  // The low and the high words of the four doubles.
  const __m128 s01 = _mm_castpd_ps(sum01), s23 = _mm_castpd_ps(sum23);
  const __m128i low = _mm_castps_si128(_mm_shuffle_ps(s01, s23, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m128i high = _mm_castps_si128(_mm_shuffle_ps(s01, s23, _MM_SHUFFLE(3, 1, 3, 1)));
  const __m128i is_halfway = _mm_cmpeq_epi32(_mm_and_si128(low, _mm_set1_epi32(0x1fffffff)), _mm_set1_epi32(0x10000000));
  // Exponent field below that of 2^-126, but not 0: only zero has that.
  const __m128i exponent = _mm_and_si128(high, _mm_set1_epi32(0x7ff00000));
  const __m128i is_denormal = _mm_and_si128(_mm_cmpgt_epi32(exponent, _mm_setzero_si128()),
                                            _mm_cmpgt_epi32(_mm_set1_epi32(0x38100000), exponent));
  return _mm_movemask_epi8(_mm_or_si128(is_halfway, is_denormal));
}

/// c = a · b + c in 8 lanes.
static HEARTH_INLINE void fma_lanes(const float* a, const float* b, float* c) {
  float fast[8];
  const int needs_exact = fma_four_lanes(a, b, c, fast) | fma_four_lanes(a + 4, b + 4, c + 4, fast + 4);
  if (HEARTH_UNLIKELY(needs_exact != 0)) {
    for (int i = 0; i < 8; ++i) fast[i] = std::fma(a[i], b[i], c[i]);
  }
  std::memcpy(c, fast, sizeof fast);
}

#else

/// c = a · b + c in 8 lanes.
static HEARTH_INLINE void fma_lanes(const float* a, const float* b, float* c) {
  for (int i = 0; i < 8; ++i) c[i] = fma(a[i], b[i], c[i]);
}

#endif

/// t is 12582912 + n: its lowest bits are n, and 2^n has the exponent field n + 127.
static HEARTH_INLINE float power_of_two(float t) {
  return float_of((bits_of(t) - bits_of(12582912.0f) + 127u) << 23);
}

static HEARTH_INLINE float bf16_to_f32(uint16_t half) { return float_of(static_cast<uint32_t>(half) << 16); }

static HEARTH_INLINE float f16_to_f32(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return float_of(sign | ((magnitude << 13) + 0x38000000u));
  // Denormal halves count in units of 2^-24.
  return float_of(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24f));
}

/// Rounds to nearest even; magnitudes of 65520 and more become infinity.
static HEARTH_INLINE uint16_t f32_to_f16(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {
    // Normal halves: drop 13 mantissa bits; a carry moves into the exponent.
    half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  } else {
    // Denormal halves: the unit is 2^-24, one ulp of 0.5, so the addition rounds to it.
    half = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  }
  return static_cast<uint16_t>(sign | half);
}

/// -8 · two sums, each as 16 bits of a word (activation_block.h).
static HEARTH_INLINE int32_t offset_pair(const int32_t (&sums)[2]) {
  const uint32_t low = static_cast<uint32_t>(-8 * sums[0]) & 0xffffu;
  const uint32_t high = static_cast<uint32_t>(-8 * sums[1]) << 16;
  return static_cast<int32_t>(high | low);
}

/// Halves to even; |x| < 127.5. Adding 1.5 · 2^23 rounds to an integer, which is then in the low bits.
static HEARTH_INLINE int8_t round_to_int8(float x) { return static_cast<int8_t>(bits_of(x + 12582912.0f) & 0xffu); }

static HEARTH_INLINE void quantize_block(const float* x, ActivationBlock* out) {
  float largest = 0.0f;
  for (int i = 0; i < 32; ++i) {
    const float magnitude = x[i] < 0.0f ? -x[i] : x[i];
    largest = magnitude > largest ? magnitude : largest;
  }
  const bool is_zero = largest < 0x1p-120f;
  const float scale = is_zero ? 0.0f : largest / 127.0f;
  const float inverse = is_zero ? 0.0f : 127.0f / largest;
  /// Of each half: codes with k mod 4 in {0, 1}, and in {2, 3}.
  int32_t sums[2][2] = {};
  for (int i = 0; i < 32; ++i) {
    const int8_t code = round_to_int8(x[i] * inverse);
    out->codes[i] = code;
    sums[i >> 4][(i >> 1) & 1] += code;
  }
  const int32_t all[2] = {sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]};
  out->scale = scale;
  out->scaled_sum = static_cast<float>(all[0] + all[1]) * scale;
  out->offset = offset_pair(all);
  out->upper_offset = offset_pair(sums[1]);
}

}  // namespace scalar
}  // namespace hearth
