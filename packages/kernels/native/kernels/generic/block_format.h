#pragma once

// What a block of each quantized type looks like in a tile, for the packer, the products and embed alike. A row's share
// of a block is a sequence of fields; in a tile each field lies beside that of the other rows, row after row:
//
//   halves        16 bits each: the scale, then a minimum or a zero point
//   scale bytes    8 bits each: scales and minimums of parts of the block, factors of the 16-bit ones
//   chunks        32 elements each, in planes, which are groups of 4 bytes
//
// The planes of a chunk (docs/shapes.md draws them), by the bits of a code:
//
//   8              bytes                     group g holds elements 4g .. 4g + 3
//   4, 5, 6        nibbles                   group g: low nibbles are group g of the elements, high nibbles group g + 4
//   5              then the fifth bits       one group: bit g belongs to group g
//   6              then the upper two bits   as those of 2
//   2, 3           pairs of bits             group g: bits 2p and 2p + 1 belong to group 2p + g
//   3              then the third bits       as the fifth

#include <cstdint>

#include "kernels/dtype.h"

namespace hearth {

/// How a code of so many bits becomes the integer that is multiplied.
enum class CodeKind {
  /// Unsigned, less `offset`.
  offset,
  /// Unsigned, less the zero point of its block, 0 .. 16.
  zero_point,
  /// Through the 16 values of iq4_nl and iq4_xs, -127 .. 113.
  table,
  /// A signed byte.
  signed_byte,
};

struct BlockFormat {
  int32_t chunks;
  int32_t halves;
  int32_t scale_bytes;
  /// Also the groups of a chunk: 32 elements of b bits are b words.
  int32_t code_bits;
  CodeKind kind;
  int32_t offset;
  /// Integer scales of a chunk: 0, or 1 for its 32 elements, or 2 for 16 each.
  int32_t sub_scales;
  /// Minimums of a chunk, likewise.
  int32_t minimums;
};

constexpr BlockFormat kBlockFormats[] = {
    {1, 1, 0, 8, CodeKind::signed_byte, 0, 0, 0},  // q8_0
    {1, 1, 0, 4, CodeKind::offset, 8, 0, 0},       // q4_0
    {1, 2, 0, 4, CodeKind::offset, 0, 0, 1},       // q4_1
    {1, 1, 0, 5, CodeKind::offset, 16, 0, 0},      // q5_0
    {1, 2, 0, 5, CodeKind::offset, 0, 0, 1},       // q5_1
    {1, 1, 0, 4, CodeKind::table, 0, 0, 0},        // iq4_nl
    {8, 2, 16, 2, CodeKind::offset, 0, 2, 2},      // q2_k
    {8, 1, 12, 3, CodeKind::offset, 4, 2, 0},      // q3_k
    {8, 2, 16, 4, CodeKind::offset, 0, 1, 1},      // q4_k
    {8, 2, 16, 5, CodeKind::offset, 0, 1, 1},      // q5_k
    {8, 1, 16, 6, CodeKind::offset, 32, 2, 0},     // q6_k
    {8, 1, 8, 4, CodeKind::table, 0, 1, 0},        // iq4_xs
    {1, 2, 0, 4, CodeKind::zero_point, 0, 0, 0},   // int4_g32
    {4, 2, 0, 4, CodeKind::zero_point, 0, 0, 0},   // int4_g128
};

/// Of a quantized type.
static constexpr const BlockFormat& block_format(Dtype dtype) {
  return kBlockFormats[static_cast<int32_t>(dtype) - static_cast<int32_t>(Dtype::q8_0)];
}

/// Bytes of a tile's block before its chunks, and of one chunk.
static constexpr int64_t header_bytes(const BlockFormat& format) {
  return int64_t{kTileRows} * (2 * format.halves + format.scale_bytes);
}
static constexpr int64_t chunk_bytes(const BlockFormat& format) { return int64_t{kTileRows} * 4 * format.code_bits; }

/// Bytes of a block of a tile.
static constexpr int64_t tile_block_bytes(Dtype dtype) { return int64_t{kTileRows} * dtype_info(dtype).packed_block_bytes; }

static constexpr bool block_formats_match_sizes() {
  for (int32_t i = 0; i < kNumDtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    if (!is_quantized(dtype)) continue;
    const BlockFormat& format = block_format(dtype);
    if (format.chunks * kBlockElements != kDtypes[i].block_elements) return false;
    if (header_bytes(format) + format.chunks * chunk_bytes(format) != kTileRows * kDtypes[i].packed_block_bytes) return false;
  }
  return true;
}
static_assert(block_formats_match_sizes(), "the fields of every format add up to its packed block");

/// The values behind the 4-bit codes of iq4_nl and iq4_xs (GGUF).
alignas(16) static constexpr int8_t kTableValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace hearth
