#pragma once

// One row of a packed matrix as f32: out[k] = scale · code + min, which is one rounding, because the product of an 11-bit
// scale and a code is exact. Plain weights are widened exactly. A row is strided through its tile (one lane of eight),
// and one row per token is all that is read, so this is scalar code.
//
// packed: whole matrix in row tiles; 0 <= row < rows; columns a multiple of the block size. Returns whether all is finite.

#include <cstdint>
#include <cstring>

#include "kernels/dtype.h"
#include "kernels/portable/scalar.h"

namespace hearth {

static HEARTH_INLINE uint16_t read_u16(const uint8_t* from) {
  uint16_t x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

static HEARTH_INLINE bool is_finite(float x) { return x - x == 0.0f; }

template <class Isa>
bool embed_plain(Dtype dtype, const uint8_t* tile, int64_t columns, int64_t lane, float* out) {
  bool finite = true;
  for (int64_t k = 0; k < columns; ++k) {
    const int64_t element = k * kTileRows + lane;
    if (dtype == Dtype::f32) {
      std::memcpy(out + k, tile + 4 * element, 4);
    } else {
      const uint16_t half = read_u16(tile + 2 * element);
      out[k] = dtype == Dtype::f16 ? scalar::f16_to_f32(half) : scalar::bf16_to_f32(half);
    }
    finite &= is_finite(out[k]);
  }
  return finite;
}

template <class Isa>
bool embed_quantized(Dtype dtype, const uint8_t* tile, int64_t columns, int64_t lane, float* out) {
  const int64_t block_bytes = int64_t{kTileRows} * dtype_info(dtype).block_bytes;
  const int64_t halves = dtype == Dtype::q4_1 ? 2 : 1;
  const int32_t offset = dtype == Dtype::q4_0 ? 8 : 0;
  bool finite = true;
  for (int64_t block = 0; block < columns / kBlockElements; ++block, tile += block_bytes, out += kBlockElements) {
    const float scale = scalar::f16_to_f32(read_u16(tile + 2 * lane));
    const float minimum = dtype == Dtype::q4_1 ? scalar::f16_to_f32(read_u16(tile + 2 * (kTileRows + lane))) : 0.0f;
    const uint8_t* codes = tile + 2 * kTileRows * halves + 4 * lane;
    for (int32_t k = 0; k < kBlockElements; ++k) {
      int32_t code;
      if (dtype == Dtype::q8_0) {
        code = static_cast<int8_t>(codes[(k / 4) * 32 + k % 4]);
      } else {
        const uint8_t byte = codes[((k & 15) / 4) * 32 + k % 4];
        code = (k < 16 ? byte & 15 : byte >> 4) - offset;
      }
      out[k] = scale * static_cast<float>(code) + minimum;
      finite &= is_finite(out[k]);
    }
  }
  return finite;
}

template <class Isa>
bool embed(Dtype dtype, const uint8_t* packed, int64_t columns, int64_t row, float* out) {
  const uint8_t* tile = packed + row / kTileRows * kTileRows * row_bytes(dtype, columns);
  const int64_t lane = row % kTileRows;
  return is_quantized(dtype) ? embed_quantized<Isa>(dtype, tile, columns, lane, out)
                             : embed_plain<Isa>(dtype, tile, columns, lane, out);
}

}  // namespace hearth
