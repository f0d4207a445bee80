// Codes that stand for 16 unequal levels: packages/core/src/quantize/iq4.ts.

#include "quantize/encode_block.h"
#include "quantize/rounding.h"
#include "quantize/search_scale.h"

namespace hearth {
namespace {

/// Index of the level nearest to value / scale, the lower one halfway between two; that of 1 where the scale is 0.
void write_levels(const float* values, double scale, uint8_t* bytes) {
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) {
    int index = 8;
    if (scale != 0) {
      const double doubled = 2 * (values[i] / scale);
      index = 0;
      for (int j = 0; j < 15; ++j) index += doubled > kIq4Levels[j] + kIq4Levels[j + 1] ? 1 : 0;
    }
    codes[i] = static_cast<uint8_t>(index);
  }
  write_nibbles(codes, bytes);
}

}  // namespace

void encode_iq4_nl(const float* values, uint8_t* block) {
  write_levels(values, write_half(block, search_level_scale(values)), block + 2);
}

void encode_iq4_xs(const float* values, uint8_t* block) {
  // Kept as f32 between the search and the scale of the super-block, as in TypeScript.
  float wanted[8];
  for (int s = 0; s < 8; ++s) wanted[s] = static_cast<float>(search_level_scale(values + 32 * s));
  const double scale = write_half(block, value_of_largest_magnitude(wanted, 8) / -32);
  int high = 0;
  for (int i = 4; i < 8; ++i) block[i] = 0;
  for (int s = 0; s < 8; ++s) {
    const double sub_scale = scale == 0 ? 0.0 : nearest_within(wanted[s] / scale, -32, 31);
    const int stored = static_cast<int>(sub_scale) + 32;
    high |= (stored >> 4) << (2 * s);
    block[4 + s / 2] |= static_cast<uint8_t>((stored & 15) << (s % 2 * 4));
    write_levels(values + 32 * s, scale * sub_scale, block + 8 + 16 * s);
  }
  block[2] = static_cast<uint8_t>(high);
  block[3] = static_cast<uint8_t>(high >> 8);
}

}  // namespace hearth
