#pragma once

// Where a tile of 64 positions lies in the cache, and how its elements are read as f32: f32 and f16 as they are, q8 as
// float(code) · scale. `Element` is float, uint16_t (f16) or int8_t (q8).

#include <cstdint>
#include <type_traits>

#include "kernels/compiler.h"
#include "kernels/kernel_table.h"

namespace hearth {

constexpr int kTileVectors = kAttentionTile / 8;
/// Positions that lie together in any cache block: those hold 16, 32 or 64, so no vector straddles two blocks.
constexpr int kRunPositions = 16;
constexpr int kTileRuns = kAttentionTile / kRunPositions;

template <class Element>
constexpr bool kHasScales = std::is_same<Element, int8_t>::value;

/// Keys lie transposed, [head_dim][positions]: vector v (places 8v .. 8v + 7) of dimension d is at vectors[v] + d · stride.
template <class Element>
struct KeyTile {
  const Element* vectors[kTileVectors];
  /// q8: the scales of the eight places of each vector.
  const float* scales[kTileVectors];
  int64_t stride;

  template <class Isa>
  HEARTH_INLINE typename Isa::F8 load(int v, int64_t d) const {
    const typename Isa::F8 x = Isa::load(vectors[v] + d * stride);
    if constexpr (kHasScales<Element>) return Isa::mul(x, Isa::load(scales[v]));
    return x;
  }
};

/// Values lie [position][padded_head_dim], as four runs of 16 positions; the dimensions past head_dim are zeros.
template <class Element>
struct ValueTile {
  const Element* runs[kTileRuns];
  /// q8: the scales of the places of each run.
  const float* scales[kTileRuns];
  /// Elements between positions: padded_head_dim.
  int64_t stride;

  /// Dimensions d .. d + 7 of place `place` of run `run`.
  template <class Isa>
  HEARTH_INLINE typename Isa::F8 load(int run, int place, int64_t d) const {
    const typename Isa::F8 x = Isa::load(runs[run] + place * stride + d);
    if constexpr (kHasScales<Element>) return Isa::mul(x, Isa::broadcast(scales[run][place]));
    return x;
  }
};

/// The tile that starts at `tile_start`. Runs past `last_position` repeat the first run: they are computed with, but never
/// visible, and their blocks may not exist.
template <class Element>
HEARTH_INLINE void locate_tile(const AttentionTask& task, int32_t tile_start, int32_t last_position,
                               KeyTile<Element>* keys, ValueTile<Element>* values) {
  keys->stride = task.block_size;
  values->stride = task.padded_head_dim;
  for (int run = 0; run < kTileRuns; ++run) {
    int32_t position = tile_start + run * kRunPositions;
    if (position > last_position) position = tile_start;
    const int64_t block = task.blocks[position / task.block_size];
    const int64_t offset = position % task.block_size;
    const Element* block_keys = reinterpret_cast<const Element*>(task.keys + block * task.key_block_stride);
    const Element* block_values = reinterpret_cast<const Element*>(task.values + block * task.value_block_stride);
    keys->vectors[2 * run] = block_keys + offset;
    keys->vectors[2 * run + 1] = block_keys + offset + 8;
    values->runs[run] = block_values + offset * task.padded_head_dim;
    if constexpr (kHasScales<Element>) {
      const float* key_scales = reinterpret_cast<const float*>(block_keys + int64_t{task.head_dim} * task.block_size);
      const float* value_scales = reinterpret_cast<const float*>(block_values + int64_t{task.padded_head_dim} * task.block_size);
      keys->scales[2 * run] = key_scales + offset;
      keys->scales[2 * run + 1] = key_scales + offset + 8;
      values->scales[run] = value_scales + offset;
    }
  }
}

}  // namespace hearth
