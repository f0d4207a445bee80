#pragma once

// 32 activations of one row, quantized to int8 for products with quantized weights (docs/numerics.md, "linear,
// quantized weights"). Everything that a product needs beside the codes is computed once per block, not once per tile.

#include <cstdint>

namespace hearth {

struct ActivationBlock {
  /// round(x · 127 / amax), half to even; -127 .. 127.
  int8_t codes[32];
  /// amax / 127, or 0 when amax < 2^-120.
  float scale;
  /// float(sum) · scale: what a weight minimum is multiplied with.
  float scaled_sum;
  /// Sum of the codes.
  int32_t sum;
  /// -8 · (sum of codes with k mod 4 in {0, 1}) in the low half, {2, 3} in the high half, each an int16: the start value
  /// that takes the offset 8 of q4_0 nibbles back in kernels whose 16-bit lanes add such pairs.
  int32_t offset_pair;
};

static_assert(sizeof(ActivationBlock) == 48, "codes, then four 32-bit fields");

}  // namespace hearth
