#pragma once

// Codes of a chunk of 32 elements, one a byte, to the planes of kernels/generic/block_format.h, several bytes at a time: in
// words, or in loops over neighbouring bytes that compilers turn into vector code.

#include <cstdint>
#include <cstring>

namespace hearth {

/// 16 bytes: element j in the low nibble of byte j, element 16 + j in the high one. Bits past the fourth are dropped.
inline void write_nibble_plane(const uint8_t (&codes)[32], uint8_t* to) {
  for (int j = 0; j < 16; ++j) to[j] = static_cast<uint8_t>((codes[j] & 15) | codes[16 + j] << 4);
}

/// 8 bytes: bits `first_bit` and `first_bit` + 1 of element 8p + j in bits 2p and 2p + 1 of byte j.
inline void write_pair_plane(const uint8_t (&codes)[32], int first_bit, uint8_t* to) {
  uint64_t plane = 0;
  for (int p = 0; p < 4; ++p) {
    uint64_t eight;
    std::memcpy(&eight, codes + 8 * p, sizeof eight);
    plane |= (eight >> first_bit & 0x0303030303030303u) << 2 * p;
  }
  std::memcpy(to, &plane, sizeof plane);
}

/// 4 bytes: bit `bit` of element 4p + j in bit p of byte j.
inline void write_bit_plane(const uint8_t (&codes)[32], int bit, uint8_t* to) {
  uint32_t plane = 0;
  for (int p = 0; p < 8; ++p) {
    uint32_t four;
    std::memcpy(&four, codes + 4 * p, sizeof four);
    plane |= (four >> bit & 0x01010101u) << p;
  }
  std::memcpy(to, &plane, sizeof plane);
}

}  // namespace hearth
