#pragma once

// The fields of a block in a tile (block_format.h): 16-bit halves and 8-bit scales and minimums, those of 8 rows at once.
// Eight bytes, one for each row, are taken as one word: the masks below work on all rows.

#include <cstdint>
#include <cstring>

#include "kernels/compiler.h"
#include "kernels/generic/block_format.h"

namespace hearth {

/// The same byte for each row.
static constexpr uint64_t each_row(uint8_t byte) { return byte * 0x0101010101010101u; }

/// Field `half` of the rows: 0 is the scale, 1 the minimum or zero point.
static HEARTH_INLINE const uint16_t* block_half(const uint8_t* block, int half) {
  return reinterpret_cast<const uint16_t*>(block) + half * kTileRows;
}

/// One-byte field `index` of the rows.
static HEARTH_INLINE uint64_t scale_field(const BlockFormat& format, const uint8_t* block, int64_t index) {
  uint64_t bytes;
  std::memcpy(&bytes, block + kTileRows * (2 * format.halves + index), sizeof bytes);
  return bytes;
}

/// Integer scale `index` of a block, counted through its chunks: signed bytes.
template <Dtype dtype>
static HEARTH_INLINE uint64_t sub_scale_bytes(const uint8_t* block, int64_t index) {
  constexpr BlockFormat format = block_format(dtype);
  if constexpr (dtype == Dtype::q2_k) return scale_field(format, block, index) & each_row(15);
  if constexpr (dtype == Dtype::q3_k) {
    // Fields 0..7: low four bits of scale i and, above them, of scale i + 8. Fields 8..11: upper two bits of i, i + 4 ...
    const uint64_t low = scale_field(format, block, index % 8) >> index / 8 * 4 & each_row(15);
    const uint64_t high = scale_field(format, block, 8 + index % 4) >> index / 4 * 2 & each_row(3);
    // 0..63, less 32: no byte of the sum passes 255, and the flipped bit takes 128 off.
    return ((low | high << 4) + each_row(96)) ^ each_row(128);
  }
  return scale_field(format, block, index);
}

/// Integer minimum `index` of a block of q2_k, q4_k or q5_k.
template <Dtype dtype>
static HEARTH_INLINE uint64_t sub_minimum_bytes(const uint8_t* block, int64_t index) {
  constexpr BlockFormat format = block_format(dtype);
  if constexpr (dtype == Dtype::q2_k) return scale_field(format, block, index) >> 4 & each_row(15);
  return scale_field(format, block, 8 + index);
}

}  // namespace hearth
