// Super-blocks of 256 elements: the K types and iq4_xs of GGUF. Chunk c below is elements 32c .. 32c + 31; i is an element
// of it. The files store 128 elements, or 64, in bytes that each hold one element of several chunks.

#include <cstring>

#include "weights/canonical_block.h"
#include "weights/code_planes.h"

namespace hearth {
namespace {

constexpr int kChunks = 8;

uint8_t byte_of(int x) { return static_cast<uint8_t>(x); }

/// Codes of chunk c where 32 bytes hold two chunks in their nibbles.
void nibble_codes(const uint8_t* nibbles, int c, uint8_t (&codes)[32]) {
  for (int i = 0; i < 32; ++i) codes[i] = byte_of(nibbles[c / 2 * 32 + i] >> c % 2 * 4 & 15);
}

/// Codes of chunk c where 32 bytes hold four chunks in pairs of bits.
void pair_codes(const uint8_t* pairs, int c, uint8_t (&codes)[32]) {
  for (int i = 0; i < 32; ++i) codes[i] = byte_of(pairs[c / 4 * 32 + i] >> c % 4 * 2 & 3);
}

/// Adds bit c of 32 bytes, which hold one bit of each chunk, to the codes of chunk c.
void add_bits(const uint8_t* bits, int c, int place, uint8_t (&codes)[32]) {
  for (int i = 0; i < 32; ++i) codes[i] = byte_of(codes[i] | (bits[i] >> c & 1) << place);
}

/// q4_k and q5_k keep 8 scales and 8 minimums of 6 bits in 12 bytes: six bits of scales 0..3 and of minimums 0..3 with two
/// spare bits above them, where the upper bits of the other four are, whose lower ones are nibbles of the last 4 bytes.
void write_six_bit_scales(const uint8_t* packed, uint8_t* scales, uint8_t* minimums) {
  for (int s = 0; s < 4; ++s) {
    scales[s] = packed[s] & 63;
    minimums[s] = packed[4 + s] & 63;
    scales[4 + s] = byte_of((packed[8 + s] & 15) | packed[s] >> 6 << 4);
    minimums[4 + s] = byte_of(packed[8 + s] >> 4 | packed[4 + s] >> 6 << 4);
  }
}

}  // namespace

/// File: 16 bytes of scales (low nibble) and minimums, 64 of codes, f16 scale, f16 scale of minimums.
void canonical_q2_k(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block + 80, 4);
  std::memcpy(canonical + 4, block, 16);
  for (int c = 0; c < kChunks; ++c) {
    uint8_t codes[32];
    pair_codes(block + 16, c, codes);
    write_pair_plane(codes, 0, canonical + 20 + 8 * c);
  }
}

/// File: 32 bytes of third bits, 64 of the lower two, 12 of scales as they are in the canonical block, f16 scale.
void canonical_q3_k(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block + 108, 2);
  std::memcpy(canonical + 2, block + 96, 12);
  for (int c = 0; c < kChunks; ++c) {
    uint8_t codes[32];
    pair_codes(block + 32, c, codes);
    add_bits(block, c, 2, codes);
    write_pair_plane(codes, 0, canonical + 14 + 12 * c);
    write_bit_plane(codes, 2, canonical + 14 + 12 * c + 8);
  }
}

/// File: f16 scale, f16 scale of minimums, 12 bytes of both, 128 of codes.
void canonical_q4_k(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block, 4);
  write_six_bit_scales(block + 4, canonical + 4, canonical + 12);
  for (int c = 0; c < kChunks; ++c) {
    uint8_t codes[32];
    nibble_codes(block + 16, c, codes);
    write_nibble_plane(codes, canonical + 20 + 16 * c);
  }
}

/// File: as q4_k, with 32 bytes of fifth bits before the nibbles.
void canonical_q5_k(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block, 4);
  write_six_bit_scales(block + 4, canonical + 4, canonical + 12);
  for (int c = 0; c < kChunks; ++c) {
    uint8_t codes[32];
    nibble_codes(block + 48, c, codes);
    add_bits(block + 16, c, 4, codes);
    write_nibble_plane(codes, canonical + 20 + 20 * c);
    write_bit_plane(codes, 4, canonical + 20 + 20 * c + 16);
  }
}

/// File: 128 bytes of lower nibbles, 64 of upper pairs, 16 of scales, f16 scale. Of the four chunks of 128 elements, 64 bytes
/// hold the first two in their low nibbles and the others in their high ones.
void canonical_q6_k(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block + 208, 2);
  std::memcpy(canonical + 2, block + 192, 16);
  for (int c = 0; c < kChunks; ++c) {
    uint8_t codes[32];
    pair_codes(block + 128, c, codes);
    const uint8_t* nibbles = block + c / 4 * 64 + c % 2 * 32;
    for (int i = 0; i < 32; ++i) codes[i] = byte_of(codes[i] << 4 | (nibbles[i] >> c % 4 / 2 * 4 & 15));
    write_nibble_plane(codes, canonical + 18 + 24 * c);
    write_pair_plane(codes, 4, canonical + 18 + 24 * c + 16);
  }
}

/// File: f16 scale, 2 bytes of the upper two bits of 8 scales, 4 of their lower nibbles, nibble planes. Scales are less 32.
void canonical_iq4_xs(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block, 2);
  for (int c = 0; c < kChunks; ++c) {
    const int low = block[4 + c / 2] >> c % 2 * 4 & 15;
    const int high = block[2 + c / 4] >> c % 4 * 2 & 3;
    canonical[2 + c] = byte_of((low | high << 4) - 32);
  }
  std::memcpy(canonical + 10, block + 8, 128);
}

}  // namespace hearth
