#pragma once

// The weights of a chunk, 32 elements of each row of some vectors, as products take them: bytes of codes, scales, minimums.
// They come from the tiles themselves (TileChunk), unpacked in registers, or from a panel that was unpacked before
// (weight_panel.h). A chunk offers:
//
//   codes(vector, g)          group g, elements 4g .. 4g + 3: unsigned bytes where `dot` takes them, else signed
//   scale(vector)             of the block
//   sub_scales(vector, part)  integer scale, for formats that have them
//   zero_points(vector)       likewise
//   minimum(vector, part)     likewise, with its sign

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/block_fields.h"
#include "kernels/generic/tile_vectors.h"

namespace hearth {

/// Word `group` of the planes of a chunk.
template <class Isa>
HEARTH_INLINE typename Isa::Codes load_plane(const uint8_t* chunk, int64_t tile_bytes, int group) {
  return each_tile<Isa>(chunk + group * kTileRows * 4, tile_bytes, [](const uint8_t* plane) { return Isa::Tile::load_codes(plane); });
}

/// Codes of group g, elements 4g .. 4g + 3 of a chunk, as bytes: unsigned ones as they are.
template <class Isa, int code_bits>
HEARTH_INLINE typename Isa::Codes load_group(const uint8_t* chunk, int64_t tile_bytes, int g) {
  using Codes = typename Isa::Codes;
  const auto plane = [&](int group) { return load_plane<Isa>(chunk, tile_bytes, group); };
  if constexpr (code_bits == 8) {
    return plane(g);
  } else if constexpr (code_bits >= 4) {
    const Codes nibbles = Isa::bits(plane(g % 4), g / 4 * 4, 15);
    if constexpr (code_bits == 5) return Isa::either(nibbles, Isa::bits(plane(4), g - 4, 16));
    if constexpr (code_bits == 6) return Isa::either(nibbles, Isa::bits(plane(4 + g % 2), g / 2 * 2 - 4, 48));
    return nibbles;
  } else {
    const Codes pairs = Isa::bits(plane(g % 2), g / 2 * 2, 3);
    if constexpr (code_bits == 3) return Isa::either(pairs, Isa::bits(plane(2), g - 2, 4));
    return pairs;
  }
}

/// Codes that are signed bytes, or become them through the table.
static constexpr bool has_signed_codes(const BlockFormat& format) {
  return format.kind == CodeKind::signed_byte || format.kind == CodeKind::table;
}

/// Chunk `chunk` of the block at `block`, that of the first tile; the next tile's lies tile_bytes further.
template <class Isa, Dtype dtype>
struct TileChunk {
  using Tile = typename Isa::Tile;
  static constexpr BlockFormat kFormat = block_format(dtype);

  const uint8_t* block;
  int64_t chunk;
  int64_t tile_bytes;

  HEARTH_INLINE typename Isa::Codes codes(int vector, int g) const {
    const uint8_t* planes = vector_block(vector) + header_bytes(kFormat) + chunk * chunk_bytes(kFormat);
    typename Isa::Codes c = load_group<Isa, kFormat.code_bits>(planes, tile_bytes, g);
    if constexpr (kFormat.kind == CodeKind::table) c = Isa::look_up(kTableValues, c);
    if constexpr (has_signed_codes(kFormat) && Isa::kHasWideDots && !Isa::kHasSignedDots) c = Isa::unsigned_codes(c);
    return c;
  }
  HEARTH_INLINE typename Isa::F8 scale(int vector) const {
    return each_tile<Isa>(vector_block(vector), tile_bytes, [](const uint8_t* b) { return Tile::load(block_half(b, 0)); });
  }
  HEARTH_INLINE typename Isa::RowScales sub_scales(int vector, int part) const {
    const int64_t index = chunk * kFormat.sub_scales + part;
    return each_tile<Isa>(vector_block(vector), tile_bytes,
                          [=](const uint8_t* b) { return Tile::row_scales(sub_scale_bytes<dtype>(b, index)); });
  }
  HEARTH_INLINE typename Isa::RowScales zero_points(int vector) const {
    return each_tile<Isa>(vector_block(vector), tile_bytes, [](const uint8_t* b) { return Tile::load_row_scales(block_half(b, 1)); });
  }
  /// As stored, or -(scale of minimums · integer), which is exact.
  HEARTH_INLINE typename Isa::F8 minimum(int vector, int part) const {
    const int64_t index = chunk * kFormat.minimums + part;
    return each_tile<Isa>(vector_block(vector), tile_bytes, [=](const uint8_t* b) {
      const typename Tile::F8 half = Tile::load(block_half(b, 1));
      if constexpr (kFormat.scale_bytes == 0) return half;
      else return Tile::negate(Tile::mul(half, Tile::small_integers(sub_minimum_bytes<dtype>(b, index))));
    });
  }

 private:
  HEARTH_INLINE const uint8_t* vector_block(int vector) const { return block + vector * Isa::kVectorTiles * tile_bytes; }
};

}  // namespace hearth
