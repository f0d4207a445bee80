#pragma once

// Where a tile of 64 positions lies, and how its elements are read as f32: f32 and f16 as they are, q8 as
// float(code) · scale. `Element` is float, uint16_t (f16) or int8_t (q8).
//
// A tile is read where it is in the cache (KeyTile, ValueTile), or, when many query rows share it, from scratch that holds
// it as f32 in the order of use (WideKeys, WideValues). Kernels take either, by slices: VECTORS vectors of 8 places for
// scores, VECTORS vectors of 8 dimensions for value sums.

#include <cstdint>
#include <type_traits>

#include "kernels/compiler.h"
#include "kernels/kernel_table.h"

namespace hearth {

constexpr int kTileVectors = kAttentionTile / 8;
/// Positions that lie together in any cache block: those hold 16, 32 or 64.
constexpr int kRunPositions = 16;
constexpr int kTileRuns = kAttentionTile / kRunPositions;
/// Vectors that a tile in scratch keeps together.
constexpr int kWideVectors = kWideSlice / 8;

template <class Element>
constexpr bool kHasScales = std::is_same<Element, int8_t>::value;

/// Keys in the cache, transposed: place p of run r in dimension d is at runs[r] + d · stride + p.
template <class Element>
struct KeyTile {
  const Element* runs[kTileRuns];
  /// q8: of the places of each run.
  const float* scales[kTileRuns];
  /// The block size.
  int64_t stride;
  /// Most vectors of a slice.
  static constexpr int kMostVectors = kTileVectors;

  template <int VECTORS>
  struct Slice {
    static constexpr int kRuns = VECTORS > 2 ? VECTORS / 2 : 1;
    const Element* runs[kRuns];
    const float* scales[kRuns];
    int64_t stride;

    template <class Isa>
    HEARTH_INLINE typename Isa::F8 load(int64_t d, int v) const {
      const typename Isa::F8 x = Isa::load(runs[v / 2] + d * stride + v % 2 * 8);
      if constexpr (kHasScales<Element>) return Isa::mul(x, Isa::load(scales[v / 2] + v % 2 * 8));
      return x;
    }
    /// Asks for what load(d, ...) will read.
    HEARTH_INLINE void prefetch(int64_t d) const {
      constexpr int64_t kRunBytes = kRunPositions * sizeof(Element);
      HEARTH_UNROLL for (int r = 0; r < kRuns; ++r) {
        // Runs of one block follow each other, so that several share a line.
        if (r * kRunBytes % kLineBytes == 0 || stride == kRunPositions) HEARTH_PREFETCH(runs[r] + d * stride);
      }
    }
  };

  /// Vectors first .. first + VECTORS - 1, first being a multiple of VECTORS.
  template <int VECTORS>
  HEARTH_INLINE Slice<VECTORS> slice(int first) const {
    Slice<VECTORS> s;
    HEARTH_UNROLL for (int r = 0; r < Slice<VECTORS>::kRuns; ++r) {
      s.runs[r] = runs[first / 2 + r] + first % 2 * 8;
      if constexpr (kHasScales<Element>) s.scales[r] = scales[first / 2 + r] + first % 2 * 8;
    }
    s.stride = stride;
    return s;
  }
};

/// Values in the cache: place p of run r is at runs[r] + p · stride, with zeros in the dimensions past head_dim.
template <class Element>
struct ValueTile {
  const Element* runs[kTileRuns];
  /// q8: of the places of each run.
  const float* scales[kTileRuns];
  /// padded_head_dim.
  int64_t stride;
  /// Places that follow each other, and most vectors of a slice.
  static constexpr int kPlaces = kRunPositions;
  static constexpr int kMostVectors = 8;

  struct Slice {
    const Element* runs[kTileRuns];
    const float* scales[kTileRuns];
    int64_t stride;

    /// Dimensions 8v .. 8v + 7 of place `place` of run `run`.
    template <class Isa>
    HEARTH_INLINE typename Isa::F8 load(int run, int place, int v) const {
      const typename Isa::F8 x = Isa::load(runs[run] + place * stride + 8 * v);
      if constexpr (kHasScales<Element>) return Isa::mul(x, Isa::broadcast(scales[run][place]));
      return x;
    }
    template <int VECTORS>
    HEARTH_INLINE void prefetch(int run, int place) const {
      for (int64_t byte = 0; byte < int64_t{VECTORS} * 8 * static_cast<int64_t>(sizeof(Element)); byte += kLineBytes) {
        HEARTH_PREFETCH(reinterpret_cast<const uint8_t*>(runs[run] + place * stride) + byte);
      }
    }
  };

  /// Dimensions from d on.
  HEARTH_INLINE Slice slice(int64_t d) const {
    Slice s;
    for (int r = 0; r < kTileRuns; ++r) {
      s.runs[r] = runs[r] + d;
      if constexpr (kHasScales<Element>) s.scales[r] = scales[r];
    }
    s.stride = stride;
    return s;
  }
};

/// Keys in scratch: [2 slices][head_dim][32 places]. A slice of 64 dimensions is 8 KB, and stays in the first-level cache
/// while all query rows pass.
struct WideKeys {
  float* tile;
  int64_t head_dim;
  static constexpr int kMostVectors = kWideVectors;

  template <int VECTORS>
  struct Slice {
    const float* from;
    template <class Isa>
    HEARTH_INLINE typename Isa::F8 load(int64_t d, int v) const {
      return Isa::load(from + d * kWideSlice + 8 * v);
    }
    HEARTH_INLINE void prefetch(int64_t) const {}
  };

  template <int VECTORS>
  HEARTH_INLINE Slice<VECTORS> slice(int first) const {
    return {tile + first / kWideVectors * head_dim * kWideSlice + first % kWideVectors * 8};
  }
};

/// Values in scratch: [slices of 32 dimensions][64 places][32].
struct WideValues {
  float* tile;
  static constexpr int kPlaces = kAttentionTile;
  static constexpr int kMostVectors = kWideVectors;

  struct Slice {
    const float* from;
    template <class Isa>
    HEARTH_INLINE typename Isa::F8 load(int, int place, int v) const {
      return Isa::load(from + place * kWideSlice + 8 * v);
    }
    template <int VECTORS>
    HEARTH_INLINE void prefetch(int, int) const {}
  };

  HEARTH_INLINE Slice slice(int64_t d) const { return {tile + d / kWideSlice * kWideSlice * kAttentionTile + d % kWideSlice}; }
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
    const Element* block_keys = reinterpret_cast<const Element*>(task.keys + block * task.block_stride);
    const Element* block_values = reinterpret_cast<const Element*>(task.values + block * task.block_stride);
    keys->runs[run] = block_keys + offset;
    values->runs[run] = block_values + offset * task.padded_head_dim;
    if constexpr (kHasScales<Element>) {
      const float* key_scales = reinterpret_cast<const float*>(block_keys + int64_t{task.head_dim} * task.block_size);
      const float* value_scales = reinterpret_cast<const float*>(block_values + int64_t{task.padded_head_dim} * task.block_size);
      keys->scales[run] = key_scales + offset;
      values->scales[run] = value_scales + offset;
    }
  }
}

template <class Isa, class Element>
HEARTH_INLINE void widen_tile(const KeyTile<Element>& keys, const ValueTile<Element>& values, const WideKeys& wide_keys,
                              const WideValues& wide_values) {
  for (int first = 0; first < kTileVectors; first += kWideVectors) {
    const auto from = keys.template slice<kWideVectors>(first);
    float* to = wide_keys.tile + first / kWideVectors * wide_keys.head_dim * kWideSlice;
    for (int64_t d = 0; d < wide_keys.head_dim; ++d) {
      HEARTH_UNROLL for (int v = 0; v < kWideVectors; ++v) Isa::store(to + d * kWideSlice + 8 * v, from.template load<Isa>(d, v));
    }
  }
  for (int64_t d = 0; d < values.stride; d += 8) {
    const auto from = values.slice(d);
    float* to = wide_values.tile + d / kWideSlice * kWideSlice * kAttentionTile + d % kWideSlice;
    for (int run = 0; run < kTileRuns; ++run) {
      for (int place = 0; place < kRunPositions; ++place, to += kWideSlice) Isa::store(to, from.template load<Isa>(run, place, 0));
    }
  }
}

}  // namespace hearth
