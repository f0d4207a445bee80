#pragma once

// 32 activations of one row, quantized to int8 for products with quantized weights (docs/numerics.md, "linear,
// quantized weights"). Everything that a product needs beside the codes is computed once per block, not once per tile.
//
// Sums of codes come in *pairs*, in the shape of the 16-bit accumulators that take the offset of weight codes back: two
// int16, the sum of codes with k mod 4 in {0, 1} in the low half of a word, {2, 3} in the high half. They are stored
// times -8: what the formats ask for is 8 times a power of two (4, 8, 16, 32 or 1).

#include <cstdint>

namespace hearth {

struct ActivationBlock {
  /// round(x · 127 / amax), half to even; -127 .. 127.
  int8_t codes[32];
  /// amax / 127, or 0 when amax < 2^-120.
  float scale;
  /// float(sum of the codes) · scale: what a weight minimum is multiplied with.
  float scaled_sum;
  /// -8 · the pair sums of all 32 codes: within 8 · 16 · 127 = 16,256.
  int32_t offset_pair;
  /// The same of codes 16 .. 31 alone, for formats whose scales or minimums cover 16 elements.
  int32_t upper_offset_pair;
};

// Not a power of two, so that the tokens of a tile do not meet in the same cache sets when k is one.
static_assert(sizeof(ActivationBlock) == 48, "codes, then four 32-bit fields");

}  // namespace hearth
