#pragma once

// As neon-dotprod, with products of 2 x 8 by 8 x 2 bytes (smmla) where there are several tokens: twice the products of an
// sdot in one instruction. Neoverse V1 and N2 and later, Apple M2 and later. How they are used: generic/matrix_products.h.

#include "kernels/neon/neon_base.h"

namespace hearth {

struct NeonI8mm : NeonBase {
  using Tile = NeonI8mm;
  using Wide = NeonI8mm;
  static constexpr bool kHasMatrixProducts = true;

  /// 8 consecutive k of each of rows 2i and 2i + 1 in rows[i].
  struct RowPairs {
    int8x16_t rows[4];
  };
  /// 8 consecutive k of each of two tokens.
  using TokenPair = int8x16_t;
  /// Sums of rows 2i and 2i + 1 in rows[i]: of the first row with both tokens, then of the second.
  struct PairDots {
    int32x4_t rows[4];
  };

  /// Codes of groups g and g + 1.
  static HEARTH_INLINE RowPairs row_pairs(Codes group, Codes next) {
    return {{zip_low(group.low, next.low), zip_high(group.low, next.low), zip_low(group.high, next.high),
             zip_high(group.high, next.high)}};
  }
  static HEARTH_INLINE TokenPair load_token_pair(const int8_t* first, const int8_t* second) {
    return vcombine_s8(vld1_s8(first), vld1_s8(second));
  }
  static HEARTH_INLINE PairDots no_pair_dots() {
    return {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
  }
  /// d of row r and token t += Σ codes of r · codes of t, over 8 k.
  static HEARTH_INLINE PairDots matrix_dot(PairDots d, RowPairs codes, TokenPair x) {
    HEARTH_UNROLL for (int i = 0; i < 4; ++i) d.rows[i] = vmmlaq_s32(d.rows[i], codes.rows[i], x);
    return d;
  }
  /// The sums of each row with the first and with the second token.
  static HEARTH_INLINE Dots first_token(PairDots d) { return {vuzp1q_s32(d.rows[0], d.rows[1]), vuzp1q_s32(d.rows[2], d.rows[3])}; }
  static HEARTH_INLINE Dots second_token(PairDots d) { return {vuzp2q_s32(d.rows[0], d.rows[1]), vuzp2q_s32(d.rows[2], d.rows[3])}; }

 private:
  // A row of a group is one lane of 32 bits.
  static HEARTH_INLINE int8x16_t zip_low(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_s8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  }
  static HEARTH_INLINE int8x16_t zip_high(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_s8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  }
};

}  // namespace hearth
