#pragma once

#include <cstdint>

namespace hearth {

/// Writes one block of a GGUF type: 32 or 256 finite values in, `block_bytes` out. The layouts are those of `weightDtypes` in
/// packages/core. Throws HalfOverflow (rounding.h).
using EncodeBlock = void (*)(const float* values, uint8_t* block);

void encode_q8_0(const float* values, uint8_t* block);
void encode_q4_0(const float* values, uint8_t* block);
void encode_q4_1(const float* values, uint8_t* block);
void encode_q5_0(const float* values, uint8_t* block);
void encode_q5_1(const float* values, uint8_t* block);
void encode_iq4_nl(const float* values, uint8_t* block);
void encode_iq4_xs(const float* values, uint8_t* block);
void encode_q2_k(const float* values, uint8_t* block);
void encode_q3_k(const float* values, uint8_t* block);
void encode_q4_k(const float* values, uint8_t* block);
void encode_q5_k(const float* values, uint8_t* block);
void encode_q6_k(const float* values, uint8_t* block);

/// 32 codes of 4 bits: element i in the low nibble of byte i, element i + 16 in its high nibble.
inline void write_nibbles(const uint8_t* codes, uint8_t* bytes) {
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(codes[i] | codes[i + 16] << 4);
}

}  // namespace hearth
