#pragma once

// One row of a packed matrix as f32: out[k] = scale · sub-scale · code + min. The product is rounded once, which changes it
// only where its factors together have more than 24 bits (6-bit codes with 8-bit sub-scales and the like); then the sum.
// Plain weights are widened exactly. A row is strided through its tile (one lane of eight), and one row per token is all
// that is read, so this is scalar code.
//
// packed: whole matrix in row tiles; 0 <= row < rows; columns a multiple of the block size. Returns whether all is finite.

#include <cstdint>
#include <cstring>

#include "kernels/generic/block_fields.h"
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

/// Byte `byte` of the lane's share of a plane that starts at word `group` of a chunk.
static HEARTH_INLINE int32_t plane_byte(const uint8_t* chunk, int32_t group, int32_t byte, int64_t lane) {
  return chunk[(group + byte / 4) * 4 * kTileRows + 4 * lane + byte % 4];
}

/// Element k of a chunk, as it is stored: unsigned, or the bits of a signed byte.
static HEARTH_INLINE int32_t stored_code(int32_t code_bits, const uint8_t* chunk, int32_t k, int64_t lane) {
  const auto nibble = [=] { return plane_byte(chunk, 0, k % 16, lane) >> k / 16 * 4 & 15; };
  const auto pair = [=](int32_t group) { return plane_byte(chunk, group, k % 8, lane) >> k / 8 * 2 & 3; };
  const auto bit = [=](int32_t group) { return plane_byte(chunk, group, k % 4, lane) >> k / 4 & 1; };
  switch (code_bits) {
    case 2: return pair(0);
    case 3: return pair(0) | bit(2) << 2;
    case 4: return nibble();
    case 5: return nibble() | bit(4) << 4;
    case 6: return nibble() | pair(4) << 4;
    default: return plane_byte(chunk, 0, k, lane);
  }
}

static HEARTH_INLINE int32_t code_value(const BlockFormat& format, int32_t stored, int32_t zero_point) {
  switch (format.kind) {
    case CodeKind::offset: return stored - format.offset;
    case CodeKind::zero_point: return stored - zero_point;
    case CodeKind::table: return kTableValues[stored];
    case CodeKind::signed_byte: return static_cast<int8_t>(stored);
  }
  return 0;
}

static HEARTH_INLINE int32_t row_byte(uint64_t bytes, int64_t lane) {
  int8_t rows[8];
  std::memcpy(rows, &bytes, sizeof rows);
  return rows[lane];
}

template <class Isa, Dtype dtype>
bool embed_quantized(const uint8_t* block, int64_t columns, int64_t lane, float* out) {
  constexpr BlockFormat format = block_format(dtype);
  bool finite = true;
  for (int64_t k = 0; k < columns; k += dtype_info(dtype).block_elements, block += kTileRows * dtype_info(dtype).packed_block_bytes) {
    const float block_scale = scalar::f16_to_f32(block_half(block, 0)[lane]);
    const uint16_t second = format.halves == 2 ? block_half(block, 1)[lane] : uint16_t{0};
    for (int32_t i = 0; i < dtype_info(dtype).block_elements; ++i, ++out) {
      float scale = block_scale;
      float minimum = 0.0f;
      if constexpr (format.sub_scales > 0) {
        const int32_t part = i * format.sub_scales / kBlockElements;
        scale *= static_cast<float>(row_byte(sub_scale_bytes<dtype>(block, part), lane));
      }
      if constexpr (format.minimums > 0) {
        minimum = scalar::f16_to_f32(second);
        if constexpr (format.sub_scales > 0) {
          const int32_t part = i * format.minimums / kBlockElements;
          minimum = -(minimum * static_cast<float>(row_byte(sub_minimum_bytes<dtype>(block, part), lane)));
        }
      }
      const uint8_t* chunk = block + header_bytes(format) + i / kBlockElements * chunk_bytes(format);
      const int32_t code = code_value(format, stored_code(format.code_bits, chunk, i % kBlockElements, lane), second);
      *out = scale * static_cast<float>(code) + minimum;
      finite &= is_finite(*out);
    }
  }
  return finite;
}

/// f8_e4m3: an f32 scale, then codes as f16.
template <class Isa>
bool embed_scaled(const uint8_t* block, int64_t columns, int64_t lane, float* out) {
  constexpr DtypeInfo kInfo = dtype_info(Dtype::f8_e4m3);
  bool finite = true;
  for (int64_t k = 0; k < columns; k += kInfo.block_elements, block += kTileRows * kInfo.packed_block_bytes) {
    float scale;
    std::memcpy(&scale, block + sizeof scale * lane, sizeof scale);
    const uint8_t* codes = block + sizeof scale * kTileRows;
    for (int64_t i = 0; i < kInfo.block_elements; ++i, ++out) {
      *out = scale * scalar::f16_to_f32(read_u16(codes + 2 * (i * kTileRows + lane)));
      finite &= is_finite(*out);
    }
  }
  return finite;
}

template <class Isa>
bool embed(Dtype dtype, const uint8_t* packed, int64_t columns, int64_t row, float* out) {
  const uint8_t* tile = packed + row / kTileRows * kTileRows * packed_row_bytes(dtype, columns);
  const int64_t lane = row % kTileRows;
  switch (dtype) {
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16: return embed_plain<Isa>(dtype, tile, columns, lane, out);
    case Dtype::q8_0: return embed_quantized<Isa, Dtype::q8_0>(tile, columns, lane, out);
    case Dtype::q4_0: return embed_quantized<Isa, Dtype::q4_0>(tile, columns, lane, out);
    case Dtype::q4_1: return embed_quantized<Isa, Dtype::q4_1>(tile, columns, lane, out);
    case Dtype::q5_0: return embed_quantized<Isa, Dtype::q5_0>(tile, columns, lane, out);
    case Dtype::q5_1: return embed_quantized<Isa, Dtype::q5_1>(tile, columns, lane, out);
    case Dtype::iq4_nl: return embed_quantized<Isa, Dtype::iq4_nl>(tile, columns, lane, out);
    case Dtype::q2_k: return embed_quantized<Isa, Dtype::q2_k>(tile, columns, lane, out);
    case Dtype::q3_k: return embed_quantized<Isa, Dtype::q3_k>(tile, columns, lane, out);
    case Dtype::q4_k: return embed_quantized<Isa, Dtype::q4_k>(tile, columns, lane, out);
    case Dtype::q5_k: return embed_quantized<Isa, Dtype::q5_k>(tile, columns, lane, out);
    case Dtype::q6_k: return embed_quantized<Isa, Dtype::q6_k>(tile, columns, lane, out);
    case Dtype::iq4_xs: return embed_quantized<Isa, Dtype::iq4_xs>(tile, columns, lane, out);
    case Dtype::int4_g32: return embed_quantized<Isa, Dtype::int4_g32>(tile, columns, lane, out);
    case Dtype::int4_g128: return embed_quantized<Isa, Dtype::int4_g128>(tile, columns, lane, out);
    case Dtype::f8_e4m3: return embed_scaled<Isa>(tile, columns, lane, out);
  }
  return false;
}

}  // namespace hearth
