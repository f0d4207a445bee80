#pragma once

// A vector of a product belongs to one tile of 8 rows, or, where registers have 16 lanes, to two neighbouring tiles: lanes
// 0 .. 7 to the first, 8 .. 15 to the second. Everything that is loaded from tiles goes through `each_tile`, so that the
// products are written once for both.

#include <cstdint>

#include "kernels/compiler.h"

namespace hearth {

/// What `load` gives for the tile at `first`, an 8-lane value of Isa::Tile, or for that and the next tile side by side.
template <class Isa, class Load>
HEARTH_INLINE auto each_tile(const uint8_t* first, int64_t tile_bytes, Load&& load) {
  if constexpr (Isa::kVectorTiles == 1) {
    return load(first);
  } else {
    return Isa::join(load(first), load(first + tile_bytes));
  }
}

}  // namespace hearth
