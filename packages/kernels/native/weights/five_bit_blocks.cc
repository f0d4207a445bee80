// q5_0 and q5_1: one or two f16, 4 bytes whose bit i is the fifth bit of element i, 16 nibble bytes.

#include <cstring>

#include "weights/canonical_block.h"

namespace hearth {
namespace {

void canonical_five_bits(const uint8_t* block, int half_bytes, uint8_t* canonical) {
  std::memcpy(canonical, block, static_cast<std::size_t>(half_bytes));
  const uint8_t* fifths = block + half_bytes;
  const uint8_t* nibbles = fifths + 4;
  std::memcpy(canonical + half_bytes, nibbles, 16);
  uint32_t bits = 0;
  for (int byte = 0; byte < 4; ++byte) bits |= uint32_t{fifths[byte]} << 8 * byte;
  // Four bits at a time, to the same bit of four bytes: the product has bit j at j + 7j, and its other bits are masked away.
  uint32_t plane = 0;
  for (int p = 0; p < 8; ++p) plane |= ((bits >> 4 * p & 15) * 0x00204081u & 0x01010101u) << p;
  std::memcpy(canonical + half_bytes + 16, &plane, sizeof plane);
}

}  // namespace

void canonical_q5_0(const uint8_t* block, uint8_t* canonical) { canonical_five_bits(block, 2, canonical); }
void canonical_q5_1(const uint8_t* block, uint8_t* canonical) { canonical_five_bits(block, 4, canonical); }

}  // namespace hearth
