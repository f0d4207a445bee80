#pragma once

// The primitives of kernels/portable/isa.h for processors with AVX-512 (F, BW, DQ, VL) and its VNNI (Intel since Ice Lake, AMD
// since Zen 4). Everything but products stays in 8 lanes, with twice the registers of AVX2; products take 16 rows at once.

#include <immintrin.h>

#include <cstdint>

#include "kernels/avx2/isa.h"
#include "kernels/vnni/wide_shapes.h"

namespace hearth {

/// vpdpbusd in 256 bits, as AVX-512 encodes it.
struct EvexDot {
  static HEARTH_INLINE __m256i dot(__m256i sum, __m256i codes, __m256i x) { return _mm256_dpbusd_epi32(sum, codes, x); }
};

struct Avx512VnniWide;

/// 8 lanes: rows, attention, and the last tile that products may have left over.
struct Avx512Vnni : LastTileProducts<EvexDot> {
  using Tile = Avx512Vnni;
  using Wide = Avx512VnniWide;
  /// Twice the registers of AVX2.
  static constexpr int kAttentionSums = 24;
  static constexpr int kAttentionDecodeRows = 4;
  static constexpr int kAttentionPrefillRows = 6;
};

/// 16 lanes, the rows of two tiles: what products need.
struct Avx512VnniWide : WideShapes {
  using Tile = Avx512Vnni;

  using F8 = __m512;
  using I8 = __m512i;
  using Codes = __m512i;
  using FourCodes = __m512i;
  using Dots = __m512i;
  using RowScales = __m512i;

  static HEARTH_INLINE F8 join(__m256 a, __m256 b) { return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1); }
  static HEARTH_INLINE __m512i join(__m256i a, __m256i b) { return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1); }
  static HEARTH_INLINE __m256 lower(F8 x) { return _mm512_castps512_ps256(x); }
  static HEARTH_INLINE __m256 upper(F8 x) { return _mm512_extractf32x8_ps(x, 1); }

  static HEARTH_INLINE F8 zero() { return _mm512_setzero_ps(); }
  static HEARTH_INLINE F8 broadcast(float x) { return _mm512_set1_ps(x); }
  static HEARTH_INLINE F8 mul(F8 a, F8 b) { return _mm512_mul_ps(a, b); }
  static HEARTH_INLINE F8 fma(F8 a, F8 b, F8 c) { return _mm512_fmadd_ps(a, b, c); }
  static HEARTH_INLINE F8 to_float(I8 x) { return _mm512_cvtepi32_ps(x); }

  static HEARTH_INLINE I8 zero_integers() { return _mm512_setzero_si512(); }
  static HEARTH_INLINE I8 add(I8 a, I8 b) { return _mm512_add_epi32(a, b); }
  static HEARTH_INLINE I8 subtract(I8 a, I8 b) { return _mm512_sub_epi32(a, b); }
  static HEARTH_INLINE Codes bits(Codes c, int shift, int mask) {
    const __m512i moved = shift > 0 ? _mm512_srli_epi16(c, shift) : shift < 0 ? _mm512_slli_epi16(c, -shift) : c;
    return _mm512_and_si512(moved, _mm512_set1_epi8(static_cast<char>(mask)));
  }
  static HEARTH_INLINE Codes either(Codes a, Codes b) { return _mm512_or_si512(a, b); }
  static HEARTH_INLINE Codes unsigned_codes(Codes c) { return _mm512_xor_si512(c, _mm512_set1_epi8(-128)); }
  static HEARTH_INLINE Codes look_up(const int8_t (&table)[16], Codes indices) {
    const __m128i values = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), indices);
  }
  static HEARTH_INLINE FourCodes broadcast_codes(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm512_set1_epi32(four);
  }
  static HEARTH_INLINE Dots no_dots() { return _mm512_setzero_si512(); }
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return _mm512_set1_epi32(x.offset); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return _mm512_set1_epi32(x.upper_offset); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) { return _mm512_sub_epi32(offsets(x), upper_offsets(x)); }
  static HEARTH_INLINE Dots shifted(Dots d, int shift) {
    return shift > 0 ? _mm512_slli_epi32(d, shift) : shift < 0 ? _mm512_srai_epi32(d, -shift) : d;
  }
  static HEARTH_INLINE Dots times(Dots d, RowScales scales) { return _mm512_mullo_epi32(d, scales); }
  static HEARTH_INLINE Dots dot(Dots d, Codes codes, FourCodes x) { return _mm512_dpbusd_epi32(d, codes, x); }
  static HEARTH_INLINE I8 total(Dots d) { return d; }
  static HEARTH_INLINE I8 total(Dots d, RowScales scales) { return _mm512_mullo_epi32(d, scales); }
};

}  // namespace hearth
