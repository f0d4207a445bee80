// q5_0 and q5_1: one or two f16, 4 bytes whose bit i is the fifth bit of element i, 16 nibble bytes.

#include <cstring>

#include "weights/canonical_block.h"
#include "weights/code_planes.h"

namespace hearth {
namespace {

void canonical_five_bits(const uint8_t* block, int half_bytes, uint8_t* canonical) {
  std::memcpy(canonical, block, static_cast<std::size_t>(half_bytes));
  const uint8_t* fifths = block + half_bytes;
  const uint8_t* nibbles = fifths + 4;
  std::memcpy(canonical + half_bytes, nibbles, 16);
  uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = fifths[i / 8] >> i % 8 & 1;
  write_bit_plane(codes, 0, canonical + half_bytes + 16);
}

}  // namespace

void canonical_q5_0(const uint8_t* block, uint8_t* canonical) { canonical_five_bits(block, 2, canonical); }
void canonical_q5_1(const uint8_t* block, uint8_t* canonical) { canonical_five_bits(block, 4, canonical); }

}  // namespace hearth
