#pragma once

// 32 activations of one row, quantized to int8 for products with quantized weights (docs/numerics.md, "linear,
// quantized weights"). Everything that a product needs beside the codes is computed once per block, not once per tile.
//
// Sums of codes are stored times -8: what the formats ask for is 8 times a power of two (4, 8, 16, 32, 128 or 1). They have
// the shape of the variant's accumulators (Dots), which take the offset of weight codes back: one 32-bit sum, or a pair of
// 16-bit ones in a word, codes with k mod 4 in {0, 1} in the low half, {2, 3} in the high half.

#include <cstdint>

namespace hearth {

struct ActivationBlock {
  /// round(x · 127 / amax), half to even; -127 .. 127.
  int8_t codes[32];
  /// amax / 127, or 0 when amax < 2^-120.
  float scale;
  /// float(sum of the codes) · scale: what a weight minimum is multiplied with.
  float scaled_sum;
  /// -8 · the sum or pair of sums of all 32 codes: each of a pair within 8 · 16 · 127 = 16,256.
  int32_t offset;
  /// The same of codes 16 .. 31 alone, for formats whose scales or minimums cover 16 elements.
  int32_t upper_offset;
};

// Not a power of two, so that the tokens of a tile do not meet in the same cache sets when k is one.
static_assert(sizeof(ActivationBlock) == 48, "codes, then four 32-bit fields");

}  // namespace hearth
