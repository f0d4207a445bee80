#pragma once

// The primitives of the portable variant, in plain C++. This file is also the contract: every other variant offers the
// same names with the same results, to the bit. The kernels in generic/ are written over them and over nothing else.
//
// A vector has 8 lanes. Lane r belongs to row r of a weight tile, or to elements r, r + 8, r + 16 ... of a row.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"
#include "kernels/portable/scalar.h"

namespace hearth {

struct Portable {
  /// The Isa of 8 lanes that values of single tiles have, and the one that products are done in as far as whole vectors go
  /// (generic/tile_vectors.h); here there is one width.
  using Tile = Portable;
  using Wide = Portable;
  /// Tiles of a vector.
  static constexpr int kVectorTiles = 1;
  /// Whether Dots are 32-bit lanes, one for each row, and `dot` takes any unsigned byte (generic/integer_products.h). Such a
  /// variant has unsigned_codes(c) = c + 128 and needs no signed_dot.
  static constexpr bool kHasWideDots = false;
  /// Whether the bytes of wide dots are signed, so that it needs no unsigned_codes either.
  static constexpr bool kHasSignedDots = false;
  /// Whether several tokens are multiplied as small matrices (generic/matrix_products.h).
  static constexpr bool kHasMatrixProducts = false;
  /// Shapes of products (generic/linear.h): vectors for one token, vectors and tokens for more. Without vector registers to
  /// fill, larger ones gain nothing.
  static constexpr int kDecodeVectors = 1;
  static constexpr int kFewDecodeVectors = 1;
  static constexpr int kVectors = 1;
  static constexpr int kTokens = 2;
  static constexpr int kFloatVectors = 1;
  static constexpr int kFloatTokens = 2;
  /// Attention: sums that are kept in registers, and rows that share each key and value that is loaded (decode reads them where
  /// they are, prefill from scratch; generic/attention.h).
  static constexpr int kAttentionSums = 4;
  static constexpr int kAttentionDecodeRows = 1;
  static constexpr int kAttentionPrefillRows = 1;
  /// Rows up to which a tile is read where it is.
  static constexpr int kAttentionDirectRows = 1;

  /// 8 floats.
  struct F8 {
    float lane[8];
  };
  /// A condition per lane.
  struct M8 {
    bool lane[8];
  };
  /// 8 signed 32-bit integers.
  struct I8 {
    int32_t lane[8];
  };
  /// 32 bytes of codes: 4 consecutive k of each of 8 rows.
  struct Codes {
    uint8_t byte[32];
  };
  /// 4 consecutive activation codes, the same for every row: k = 0, 2, 0, 2 ... and k = 1, 3, 1, 3 ..., so that they meet
  /// the low and the high bytes of Codes taken as 16-bit words.
  struct FourCodes {
    int16_t even[16];
    int16_t odd[16];
  };
  /// Sums of products in two 16-bit lanes for each row, 2r and 2r + 1: of the codes with k mod 4 in {0, 1}, and of those with
  /// {2, 3}. generic/integer_products.h sees to it that they fit. (Products of 16 bits are what SSE2 has, so compilers turn
  /// the loops over lanes into vector code.)
  struct Dots {
    int16_t lane[16];
  };
  /// A number for each row, in both of its lanes.
  struct RowScales {
    int16_t lane[16];
  };

  // Floats.

  static HEARTH_INLINE F8 zero() { return F8{}; }
  static HEARTH_INLINE F8 broadcast(float x) {
    F8 y;
    for (float& lane : y.lane) lane = x;
    return y;
  }
  static HEARTH_INLINE F8 load(const float* from) {
    F8 y;
    std::memcpy(y.lane, from, sizeof y.lane);
    return y;
  }
  static HEARTH_INLINE void store(float* to, F8 x) { std::memcpy(to, x.lane, sizeof x.lane); }
  /// The first n < 8 elements; the other lanes are +0.
  static HEARTH_INLINE F8 load_partial(const float* from, int64_t n) {
    F8 y{};
    for (int64_t i = 0; i < n; ++i) y.lane[i] = from[i];
    return y;
  }
  static HEARTH_INLINE void store_partial(float* to, F8 x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = x.lane[i];
  }
  static HEARTH_INLINE F8 add(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static HEARTH_INLINE F8 sub(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] -= b.lane[i];
    return a;
  }
  static HEARTH_INLINE F8 mul(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] *= b.lane[i];
    return a;
  }
  static HEARTH_INLINE F8 div(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] /= b.lane[i];
    return a;
  }
  /// a · b + c, rounded once.
  static HEARTH_INLINE F8 fma(F8 a, F8 b, F8 c) {
    scalar::fma_lanes(a.lane, b.lane, c.lane);
    return c;
  }
  static HEARTH_INLINE float fma(float a, float b, float c) { return scalar::fma(a, b, c); }
  /// The larger; either one when they are equal. Says nothing about NaN.
  static HEARTH_INLINE F8 max(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
  }
  static HEARTH_INLINE F8 negate(F8 a) {
    for (int i = 0; i < 8; ++i) a.lane[i] = -a.lane[i];
    return a;
  }
  static HEARTH_INLINE F8 abs(F8 a) {
    for (int i = 0; i < 8; ++i) a.lane[i] = std::fabs(a.lane[i]);
    return a;
  }

  // Conditions.

  static HEARTH_INLINE M8 less(F8 a, F8 b) {
    M8 m;
    for (int i = 0; i < 8; ++i) m.lane[i] = a.lane[i] < b.lane[i];
    return m;
  }
  /// Lanes first .. last - 1 (either may lie outside 0 .. 8).
  static HEARTH_INLINE M8 lanes_between(int32_t first, int32_t last) {
    M8 m;
    for (int i = 0; i < 8; ++i) m.lane[i] = i >= first && i < last;
    return m;
  }
  static HEARTH_INLINE F8 select(M8 condition, F8 yes, F8 no) {
    for (int i = 0; i < 8; ++i) no.lane[i] = condition.lane[i] ? yes.lane[i] : no.lane[i];
    return no;
  }
  /// The lowest lane where a equals b, or 8.
  static HEARTH_INLINE int first_equal(F8 a, F8 b) {
    for (int i = 0; i < 8; ++i) {
      if (a.lane[i] == b.lane[i]) return i;
    }
    return 8;
  }

  // Across lanes.

  /// The fixed tree: s_i = l_i + l_(i+4), t_j = s_j + s_(j+2), total = t_0 + t_1.
  static HEARTH_INLINE float tree_sum(F8 x) {
    float s[4];
    for (int i = 0; i < 4; ++i) s[i] = x.lane[i] + x.lane[i + 4];
    return (s[0] + s[2]) + (s[1] + s[3]);
  }
  static HEARTH_INLINE float max_lane(F8 x) {
    float m = x.lane[0];
    for (int i = 1; i < 8; ++i) m = x.lane[i] > m ? x.lane[i] : m;
    return m;
  }

  // Finite checks: taint(t, x) turns lanes of t, which starts at zero, into NaN where x is NaN or infinite.

  static HEARTH_INLINE F8 taint(F8 t, F8 x) {
    for (int i = 0; i < 8; ++i) t.lane[i] += x.lane[i] * 0.0f;
    return t;
  }
  static HEARTH_INLINE bool is_clean(F8 t) {
    bool clean = true;
    for (float lane : t.lane) clean &= lane == 0.0f;
    return clean;
  }

  /// t is 12582912 + n, |n| < 2^22: gives 2^n for -127 < n < 128; anything for other t.
  static HEARTH_INLINE F8 power_of_two(F8 t) {
    for (float& lane : t.lane) lane = scalar::power_of_two(lane);
    return t;
  }

  // Half floats.

  static HEARTH_INLINE F8 load(const uint16_t* from_f16) {
    F8 y;
    for (int i = 0; i < 8; ++i) y.lane[i] = scalar::f16_to_f32(from_f16[i]);
    return y;
  }
  /// Eight signed bytes as they are.
  static HEARTH_INLINE F8 load(const int8_t* from) {
    F8 y;
    for (int i = 0; i < 8; ++i) y.lane[i] = static_cast<float>(from[i]);
    return y;
  }
  static HEARTH_INLINE F8 load_bf16(const uint16_t* from) {
    F8 y;
    for (int i = 0; i < 8; ++i) y.lane[i] = scalar::bf16_to_f32(from[i]);
    return y;
  }
  /// Rounded to nearest even.
  static HEARTH_INLINE void store(uint16_t* to_f16, F8 x) {
    for (int i = 0; i < 8; ++i) to_f16[i] = scalar::f32_to_f16(x.lane[i]);
  }
  /// Rounded to integers, halves to even; |x| < 127.5.
  static HEARTH_INLINE void store(int8_t* to, F8 x) {
    for (int i = 0; i < 8; ++i) to[i] = scalar::round_to_int8(x.lane[i]);
  }

  // Integer products.

  static HEARTH_INLINE F8 to_float(I8 x) {
    F8 y;
    for (int i = 0; i < 8; ++i) y.lane[i] = static_cast<float>(x.lane[i]);
    return y;
  }
  static HEARTH_INLINE I8 zero_integers() { return I8{}; }
  static HEARTH_INLINE I8 add(I8 a, I8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static HEARTH_INLINE I8 subtract(I8 a, I8 b) {
    for (int i = 0; i < 8; ++i) a.lane[i] -= b.lane[i];
    return a;
  }
  /// Eight signed bytes, one for each row.
  static HEARTH_INLINE F8 small_integers(uint64_t bytes) {
    int8_t rows[8];
    std::memcpy(rows, &bytes, sizeof rows);
    F8 y;
    for (int i = 0; i < 8; ++i) y.lane[i] = static_cast<float>(rows[i]);
    return y;
  }
  static HEARTH_INLINE Codes load_codes(const uint8_t* from) {
    Codes c;
    std::memcpy(c.byte, from, sizeof c.byte);
    return c;
  }
  /// (byte >> shift) & mask, to the left when shift is negative. No bit of the mask is one that a shift of wider words would
  /// bring in from a neighbour.
  static HEARTH_INLINE Codes bits(Codes c, int shift, int mask) {
    for (uint8_t& byte : c.byte) byte = static_cast<uint8_t>((shift < 0 ? byte << -shift : byte >> shift) & mask);
    return c;
  }
  static HEARTH_INLINE Codes either(Codes a, Codes b) {
    for (int i = 0; i < 32; ++i) a.byte[i] |= b.byte[i];
    return a;
  }
  /// table[index] of every byte, indices 0 .. 15; the table is 16-byte aligned.
  static HEARTH_INLINE Codes look_up(const int8_t (&table)[16], Codes indices) {
    for (uint8_t& byte : indices.byte) byte = static_cast<uint8_t>(table[byte]);
    return indices;
  }
  static HEARTH_INLINE FourCodes broadcast_codes(const int8_t* from) {
    FourCodes c;
    for (int i = 0; i < 16; i += 2) {
      c.even[i] = from[0];
      c.odd[i] = from[1];
      c.even[i + 1] = from[2];
      c.odd[i + 1] = from[3];
    }
    return c;
  }
  /// Eight signed bytes, one for each row.
  static HEARTH_INLINE RowScales row_scales(uint64_t bytes) {
    int8_t rows[8];
    std::memcpy(rows, &bytes, sizeof rows);
    RowScales scales;
    for (int i = 0; i < 16; ++i) scales.lane[i] = rows[i / 2];
    return scales;
  }
  /// Eight numbers below 2^15.
  static HEARTH_INLINE RowScales load_row_scales(const uint16_t* from) {
    RowScales scales;
    for (int i = 0; i < 16; ++i) scales.lane[i] = static_cast<int16_t>(from[i / 2]);
    return scales;
  }
  static HEARTH_INLINE Dots no_dots() { return Dots{}; }
  /// -8 · the pair sums of a block, for each row; of its codes 16 .. 31; of its codes 0 .. 15.
  static HEARTH_INLINE Dots offsets(const ActivationBlock& x) { return pair_dots(x.offset); }
  static HEARTH_INLINE Dots upper_offsets(const ActivationBlock& x) { return pair_dots(x.upper_offset); }
  static HEARTH_INLINE Dots lower_offsets(const ActivationBlock& x) {
    Dots d = offsets(x);
    const Dots upper = upper_offsets(x);
    for (int i = 0; i < 16; ++i) d.lane[i] = static_cast<int16_t>(d.lane[i] - upper.lane[i]);
    return d;
  }
  /// d · 2^shift, -3 <= shift <= 2, where that is an integer of 16 bits.
  static HEARTH_INLINE Dots shifted(Dots d, int shift) {
    for (int16_t& lane : d.lane) lane = static_cast<int16_t>(lane * (1 << (shift + 3)) / 8);
    return d;
  }
  /// d · scales, where that fits 16 bits.
  static HEARTH_INLINE Dots times(Dots d, RowScales scales) {
    for (int i = 0; i < 16; ++i) d.lane[i] = static_cast<int16_t>(d.lane[i] * scales.lane[i]);
    return d;
  }
  /// d of row r += Σ codes[4r + j] · x[j], codes 0 .. 63.
  static HEARTH_INLINE Dots dot(Dots d, Codes codes, FourCodes x) {
    uint16_t words[16];
    std::memcpy(words, codes.byte, sizeof words);
    for (int i = 0; i < 16; ++i) {
      const int16_t low = static_cast<int16_t>(words[i] & 255);
      const int16_t high = static_cast<int16_t>(words[i] >> 8);
      d.lane[i] = static_cast<int16_t>(d.lane[i] + static_cast<int16_t>(low * x.even[i]) + static_cast<int16_t>(high * x.odd[i]));
    }
    return d;
  }
  static HEARTH_INLINE I8 total(Dots d) {
    I8 total;
    for (int r = 0; r < 8; ++r) total.lane[r] = d.lane[2 * r] + d.lane[2 * r + 1];
    return total;
  }
  /// The sum of a row's lanes · its scale, in 32 bits.
  static HEARTH_INLINE I8 total(Dots d, RowScales scales) {
    I8 total;
    for (int r = 0; r < 8; ++r) {
      total.lane[r] = d.lane[2 * r] * scales.lane[2 * r] + d.lane[2 * r + 1] * scales.lane[2 * r + 1];
    }
    return total;
  }
  /// d[r] += Σ codes[4r + j] · x[j], codes signed.
  static HEARTH_INLINE I8 signed_dot(I8 d, Codes codes, FourCodes x) { return add(d, total(signed_pairs(codes, x))); }
  /// d[r] += scales[r] · Σ codes[4r + j] · x[j]
  static HEARTH_INLINE I8 signed_dot(I8 d, Codes codes, FourCodes x, RowScales scales) {
    return add(d, total(signed_pairs(codes, x), scales));
  }

  /// Quantizes 32 activations.
  static HEARTH_INLINE void quantize_block(const float* x, ActivationBlock* out) { scalar::quantize_block(x, out); }

 private:
  static HEARTH_INLINE Dots pair_dots(int32_t pair) {
    Dots d;
    std::memcpy(d.lane, &pair, sizeof pair);
    for (int i = 2; i < 16; ++i) d.lane[i] = d.lane[i - 2];
    return d;
  }
  /// A pair of products is at most 2 · 128 · 127 = 32,512: 16 bits hold one pair.
  static HEARTH_INLINE Dots signed_pairs(Codes codes, FourCodes x) {
    int16_t words[16];
    std::memcpy(words, codes.byte, sizeof words);
    Dots pairs;
    for (int i = 0; i < 16; ++i) {
      const int16_t low = static_cast<int8_t>(words[i]);
      const int16_t high = static_cast<int16_t>(words[i] >> 8);
      pairs.lane[i] = static_cast<int16_t>(static_cast<int16_t>(low * x.even[i]) + static_cast<int16_t>(high * x.odd[i]));
    }
    return pairs;
  }
};

}  // namespace hearth
