#pragma once

// Variants for tests alone: what the VNNI variants are made of, with vpdpbusd emulated in AVX2, so that their logic is held
// to the portable kernels on processors without VNNI or AVX-512 too. The 16 lanes of the wide one are two registers.

#include "kernels/vnni/wide_shapes.h"

namespace hearth {

/// vpdpbusd, exactly: products of unsigned by signed bytes take 16 bits and a sign, so they are added up in 32.
struct EmulatedDot {
  static HEARTH_INLINE __m256i dot(__m256i sum, __m256i codes, __m256i x) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(codes, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(codes, 8), _mm256_srai_epi16(x, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
  }
};

/// The logic of avx-vnni.
struct EmulatedVnni : VnniProducts<EmulatedDot> {
  using Tile = EmulatedVnni;
  using Wide = EmulatedVnni;
};

struct EmulatedWide;

/// The logic of avx512-vnni: products over two tiles at a time.
struct EmulatedVnni16 : LastTileProducts<EmulatedDot> {
  using Tile = EmulatedVnni16;
  using Wide = EmulatedWide;
};

struct EmulatedWide : WideShapes {
  using Tile = EmulatedVnni16;

  template <class Half>
  struct Pair {
    Half a, b;
  };
  using F8 = Pair<__m256>;
  using I8 = Pair<__m256i>;
  using Codes = I8;
  using FourCodes = I8;
  using Dots = I8;
  using RowScales = I8;

  template <class Half>
  static HEARTH_INLINE Pair<Half> join(Half a, Half b) { return {a, b}; }
  static HEARTH_INLINE __m256 lower(F8 x) { return x.a; }
  static HEARTH_INLINE __m256 upper(F8 x) { return x.b; }

  static HEARTH_INLINE F8 zero() { return {Tile::zero(), Tile::zero()}; }
  static HEARTH_INLINE F8 broadcast(float x) { return {Tile::broadcast(x), Tile::broadcast(x)}; }
  static HEARTH_INLINE F8 mul(F8 x, F8 y) { return {Tile::mul(x.a, y.a), Tile::mul(x.b, y.b)}; }
  static HEARTH_INLINE F8 fma(F8 x, F8 y, F8 z) { return {Tile::fma(x.a, y.a, z.a), Tile::fma(x.b, y.b, z.b)}; }
  static HEARTH_INLINE F8 to_float(I8 x) { return {Tile::to_float(x.a), Tile::to_float(x.b)}; }

  static HEARTH_INLINE I8 zero_integers() { return no_dots(); }
  static HEARTH_INLINE I8 add(I8 x, I8 y) { return {Tile::add(x.a, y.a), Tile::add(x.b, y.b)}; }
  static HEARTH_INLINE I8 subtract(I8 x, I8 y) { return {Tile::subtract(x.a, y.a), Tile::subtract(x.b, y.b)}; }
  static HEARTH_INLINE Codes bits(Codes c, int shift, int mask) { return {Tile::bits(c.a, shift, mask), Tile::bits(c.b, shift, mask)}; }
  static HEARTH_INLINE Codes either(Codes x, Codes y) { return {Tile::either(x.a, y.a), Tile::either(x.b, y.b)}; }
  static HEARTH_INLINE Codes unsigned_codes(Codes c) { return {Tile::unsigned_codes(c.a), Tile::unsigned_codes(c.b)}; }
  static HEARTH_INLINE Codes look_up(const int8_t (&table)[16], Codes c) { return {Tile::look_up(table, c.a), Tile::look_up(table, c.b)}; }
  static HEARTH_INLINE FourCodes broadcast_codes(const int8_t* from) { return both(Tile::broadcast_codes(from)); }
  static HEARTH_INLINE Dots no_dots() { return both(Tile::no_dots()); }
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return both(Tile::offsets(x)); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return both(Tile::upper_offsets(x)); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) { return both(Tile::lower_offsets(x)); }
  static HEARTH_INLINE Dots shifted(Dots d, int shift) { return {Tile::shifted(d.a, shift), Tile::shifted(d.b, shift)}; }
  static HEARTH_INLINE Dots times(Dots d, RowScales s) { return {Tile::times(d.a, s.a), Tile::times(d.b, s.b)}; }
  static HEARTH_INLINE Dots dot(Dots d, Codes c, FourCodes x) { return {Tile::dot(d.a, c.a, x.a), Tile::dot(d.b, c.b, x.b)}; }
  static HEARTH_INLINE I8 total(Dots d) { return d; }
  static HEARTH_INLINE I8 total(Dots d, RowScales s) { return times(d, s); }

 private:
  static HEARTH_INLINE I8 both(__m256i x) { return {x, x}; }
};

}  // namespace hearth
