// Types with one scale, and perhaps one minimum, for 32 values: packages/core/src/quantize/blocks-of-32.ts.

#include "quantize/encode_block.h"
#include "quantize/rounding.h"

namespace hearth {
namespace {

constexpr int kValues = 32;

/// Code 0 where the scale is 0.
void codes_of(const float* values, double below, double scale, int least, int most, int shift, uint8_t* codes) {
  for (int i = 0; i < kValues; ++i) {
    const double code = scale == 0 ? 0.0 : nearest_within((values[i] - below) / scale, least, most);
    codes[i] = static_cast<uint8_t>(static_cast<int>(code) + shift);
  }
}

struct Range {
  double scale;
  double min;
};

/// min = smallest value, scale = range / max_code
Range write_range(const float* values, int max_code, uint8_t* block) {
  double smallest = values[0];
  double largest = values[0];
  for (int i = 0; i < kValues; ++i) {
    if (values[i] < smallest) smallest = values[i];
    if (values[i] > largest) largest = values[i];
  }
  const double scale = write_half(block, (largest - smallest) / max_code);
  return {scale, write_half(block + 2, smallest)};
}

/// The fifth bits of the elements in 4 bytes, then nibbles.
void write_five_bits(const uint8_t* codes, uint8_t* bytes) {
  uint8_t low[kValues];
  for (int byte = 0; byte < 4; ++byte) {
    int high = 0;
    for (int bit = 0; bit < 8; ++bit) high |= (codes[8 * byte + bit] >> 4) << bit;
    bytes[byte] = static_cast<uint8_t>(high);
  }
  for (int i = 0; i < kValues; ++i) low[i] = codes[i] & 15;
  write_nibbles(low, bytes + 4);
}

}  // namespace

void encode_q8_0(const float* values, uint8_t* block) {
  const double extreme = value_of_largest_magnitude(values, kValues);
  const double scale = write_half(block, (extreme < 0 ? -extreme : extreme) / 127);
  codes_of(values, 0, scale, -127, 127, 0, block + 2);
}

void encode_q4_0(const float* values, uint8_t* block) {
  const double scale = write_half(block, value_of_largest_magnitude(values, kValues) / -8);
  uint8_t codes[kValues];
  codes_of(values, 0, scale, -8, 7, 8, codes);
  write_nibbles(codes, block + 2);
}

void encode_q5_0(const float* values, uint8_t* block) {
  const double scale = write_half(block, value_of_largest_magnitude(values, kValues) / -16);
  uint8_t codes[kValues];
  codes_of(values, 0, scale, -16, 15, 16, codes);
  write_five_bits(codes, block + 2);
}

void encode_q4_1(const float* values, uint8_t* block) {
  const Range range = write_range(values, 15, block);
  uint8_t codes[kValues];
  codes_of(values, range.min, range.scale, 0, 15, 0, codes);
  write_nibbles(codes, block + 4);
}

void encode_q5_1(const float* values, uint8_t* block) {
  const Range range = write_range(values, 31, block);
  uint8_t codes[kValues];
  codes_of(values, range.min, range.scale, 0, 31, 0, codes);
  write_five_bits(codes, block + 4);
}

}  // namespace hearth
