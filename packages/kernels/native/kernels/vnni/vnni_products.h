#pragma once

// Integer products of AVX2 machines with VNNI, whichever way the instruction is encoded: vpdpbusd adds four products of
// unsigned by signed bytes to a 32-bit lane. Sums need no pairs and no care for 16 bits: a lane starts at the offset that
// its codes are too large by, also for signed codes, which become unsigned by adding 128.
//
// `Dot` has the one instruction, so that another one can stand in for it in tests (native/tests/variants/emulated_vnni.h).

#include <immintrin.h>

#include <cstdint>

#include "kernels/avx2/isa.h"

namespace hearth {

template <class Dot>
struct VnniProducts : Avx2 {
  static constexpr bool kHasWideDots = true;
  using Dots = __m256i;
  using RowScales = __m256i;

  static HEARTH_INLINE Codes unsigned_codes(Codes c) { return _mm256_xor_si256(c, _mm256_set1_epi8(-128)); }
  static HEARTH_INLINE RowScales row_scales(uint64_t bytes) {
    return _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
  }
  static HEARTH_INLINE RowScales load_row_scales(const uint16_t* from) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return _mm256_set1_epi32(x.offset); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return _mm256_set1_epi32(x.upper_offset); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) { return _mm256_sub_epi32(offsets(x), upper_offsets(x)); }
  static HEARTH_INLINE Dots shifted(Dots d, int shift) {
    return shift > 0 ? _mm256_slli_epi32(d, shift) : shift < 0 ? _mm256_srai_epi32(d, -shift) : d;
  }
  static HEARTH_INLINE Dots times(Dots d, RowScales scales) { return _mm256_mullo_epi32(d, scales); }
  static HEARTH_INLINE Dots dot(Dots d, Codes codes, FourCodes x) { return Dot::dot(d, codes, x); }
  static HEARTH_INLINE I8 total(Dots d) { return d; }
  static HEARTH_INLINE I8 total(Dots d, RowScales scales) { return _mm256_mullo_epi32(d, scales); }

  static HEARTH_INLINE void quantize_block(const float* x, ActivationBlock* out) {
    float scale;
    const __m256i codes = quantized_codes(x, &scale);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out->codes), codes);
    // Sums of four codes; lanes 0 .. 3 are the lower half.
    const __m256i fours = Dot::dot(_mm256_setzero_si256(), _mm256_set1_epi8(1), codes);
    const __m128i upper = sum_of_lanes(_mm256_extracti128_si256(fours, 1));
    const __m128i all = _mm_add_epi32(sum_of_lanes(_mm256_castsi256_si128(fours)), upper);
    const int32_t sum = _mm_cvtsi128_si32(all);
    out->offset = -8 * sum;
    out->upper_offset = -8 * _mm_cvtsi128_si32(upper);
    out->scale = scale;
    out->scaled_sum = static_cast<float>(sum) * scale;
  }

 private:
  /// In every lane.
  static HEARTH_INLINE __m128i sum_of_lanes(__m128i x) {
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_add_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(2, 3, 0, 1)));
  }
};

}  // namespace hearth
