#pragma once

// Value sums of query rows over one tile of 64 positions (docs/numerics.md, "attention", step 4): o[d] = o[d] · decay,
// then fma(p_j, v_j[d], o[d]) over the visible positions in ascending order.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/attention_rows.h"
#include "kernels/generic/cache_tile.h"

namespace hearth {

/// Places of a tile that several rows see.
struct Places {
  int32_t first;
  int32_t last;
  /// Whether sums are multiplied with their decay before.
  bool decays;
};

/// Dimensions [d, d + 8 · VECTORS) of rows 0 .. ROWS - 1. The same dimensions of the tile `next` are asked for meanwhile.
template <class Isa, class Values, int ROWS, int VECTORS>
HEARTH_INLINE void add_values(const AttentionRow* rows, const Values& values, const Values& next, int64_t d, const Places& places,
                              const float* p) {
  using F8 = typename Isa::F8;
  const auto slice = values.slice(d);
  const auto next_slice = next.slice(d);
  F8 o[ROWS][VECTORS];
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
      o[r][v] = Isa::load(rows[r].o + d + 8 * v);
      if (places.decays) o[r][v] = Isa::mul(o[r][v], Isa::broadcast(rows[r].decay));
    }
  }
  for (int32_t place = places.first; place < places.last;) {
    const int32_t run = place / Values::kPlaces;
    const int32_t run_start = run * Values::kPlaces;
    const int32_t run_end = run_start + Values::kPlaces < places.last ? run_start + Values::kPlaces : places.last;
    for (; place < run_end; ++place) {
      next_slice.template prefetch<VECTORS>(run, place - run_start);
      F8 probability[ROWS];
      HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) probability[r] = Isa::broadcast(p[r * kAttentionTile + place]);
      HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
        const F8 value = slice.template load<Isa>(run, place - run_start, v);
        HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) o[r][v] = Isa::fma(probability[r], value, o[r][v]);
      }
    }
  }
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) Isa::store(rows[r].o + d + 8 * v, o[r][v]);
  }
}

/// Dimensions [d, end), in steps of VECTORS vectors, and of less where less is left.
template <class Isa, class Values, int ROWS, int VECTORS>
HEARTH_INLINE void add_value_range(const AttentionRow* rows, const Values& values, const Values& next, int64_t d, int64_t end,
                                   const Places& places, const float* p) {
  for (; d + 8 * VECTORS <= end; d += 8 * VECTORS) add_values<Isa, Values, ROWS, VECTORS>(rows, values, next, d, places, p);
  if constexpr (VECTORS > 1) {
    if (d < end) add_value_range<Isa, Values, ROWS, VECTORS / 2>(rows, values, next, d, end, places, p);
  }
}

/// One bundle. Rows of different tokens see different places: the ones that all of them see are taken together, the edges
/// row by row. Every row still adds its places in ascending order.
template <class Isa, class Values, int ROWS>
HEARTH_INLINE void add_bundle(const AttentionRow* rows, const Values& values, const Values& next, int64_t d, int64_t end, const float* p) {
  constexpr int VECTORS = bundle_vectors<Isa>(ROWS, Values::kMostVectors);
  Places common{0, kAttentionTile, false};
  for (int r = 0; r < ROWS; ++r) {
    common.first = rows[r].first > common.first ? rows[r].first : common.first;
    common.last = rows[r].last < common.last ? rows[r].last : common.last;
    common.decays |= rows[r].decay != 1.0f;
  }
  if constexpr (ROWS == 1) {
    return add_value_range<Isa, Values, 1, VECTORS>(rows, values, next, d, end, common, p);
  } else {
    if (common.last < common.first) common.last = common.first;
    const auto add_edge = [&](int r, const Places& edge) {
      constexpr int kEdgeVectors = bundle_vectors<Isa>(1, Values::kMostVectors);
      add_value_range<Isa, Values, 1, kEdgeVectors>(rows + r, values, next, d, end, edge, p + r * kAttentionTile);
    };
    bool has_edges = false;
    for (int r = 0; r < ROWS; ++r) has_edges |= rows[r].first < common.first;
    if (has_edges) {
      for (int r = 0; r < ROWS; ++r) {
        add_edge(r, {rows[r].first, rows[r].last < common.first ? rows[r].last : common.first, true});
      }
      common.decays = false;
    }
    add_value_range<Isa, Values, ROWS, VECTORS>(rows, values, next, d, end, common, p);
    for (int r = 0; r < ROWS; ++r) {
      if (rows[r].last > common.last) add_edge(r, {common.last, rows[r].last, false});
    }
  }
}

/// All rows. p: [num_rows][64].
template <class Isa, int MOST_ROWS, class Values>
HEARTH_INLINE void value_tile(const AttentionRow* rows, int64_t num_rows, int64_t padded_head_dim, const Values& values,
                              const Values& next, const float* p) {
  // As with keys: a slice of values meets all rows before the next one does.
  constexpr int64_t kSlice = 8 * Values::kMostVectors;
  for (int64_t d = 0; d < padded_head_dim; d += kSlice) {
    const int64_t end = d + kSlice < padded_head_dim ? d + kSlice : padded_head_dim;
    for_each_bundle<MOST_ROWS>(num_rows, [&](int64_t row, auto count) {
      add_bundle<Isa, Values, decltype(count)::value>(rows + row, values, next, d, end, p + row * kAttentionTile);
    });
  }
}

}  // namespace hearth
