#pragma once

// A panel: up to 8 chunks (256 elements) of the rows of VECTORS vectors, unpacked once and then met by many tokens. Its
// fields are the values that TileChunk would make of the tiles each time; it stays in the first cache (4 to 13 KiB).

#include <cstdint>

#include "kernels/generic/weight_chunk.h"

namespace hearth {

constexpr int kPanelChunks = 8;

template <class Isa, Dtype dtype, int VECTORS>
struct alignas(64) PanelChunk {
  static constexpr BlockFormat kFormat = block_format(dtype);
  static constexpr int at_least_one(int n) { return n > 0 ? n : 1; }

  typename Isa::Codes code[8][VECTORS];
  typename Isa::F8 block_scale[VECTORS];
  /// Integer scales of the parts, or the zero point.
  typename Isa::RowScales row_scales[at_least_one(kFormat.sub_scales)][VECTORS];
  typename Isa::F8 minimums[at_least_one(kFormat.minimums)][VECTORS];

  HEARTH_INLINE typename Isa::Codes codes(int vector, int g) const { return code[g][vector]; }
  HEARTH_INLINE typename Isa::F8 scale(int vector) const { return block_scale[vector]; }
  HEARTH_INLINE typename Isa::RowScales sub_scales(int vector, int part) const { return row_scales[part][vector]; }
  HEARTH_INLINE typename Isa::RowScales zero_points(int vector) const { return row_scales[0][vector]; }
  HEARTH_INLINE typename Isa::F8 minimum(int vector, int part) const { return minimums[part][vector]; }

  HEARTH_INLINE void unpack(const TileChunk<Isa, dtype>& from) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      HEARTH_UNROLL for (int g = 0; g < 8; ++g) code[g][i] = from.codes(i, g);
      block_scale[i] = from.scale(i);
      if constexpr (kFormat.kind == CodeKind::zero_point) row_scales[0][i] = from.zero_points(i);
      HEARTH_UNROLL for (int part = 0; part < kFormat.sub_scales; ++part) row_scales[part][i] = from.sub_scales(i, part);
      HEARTH_UNROLL for (int part = 0; part < kFormat.minimums; ++part) minimums[part][i] = from.minimum(i, part);
    }
  }
};

}  // namespace hearth
