#pragma once

// Value sums of a bundle of query rows over one tile of 64 positions (docs/numerics.md, "attention", step 4):
// o[d] = o[d] · decay, then fma(p_j, v_j[d], o[d]) over the visible positions in ascending order.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/attention_scores.h"

namespace hearth {

/// Places [first, last) of the tile, dimensions [d, d + 8 · VECTORS), rows 0 .. ROWS - 1; o is multiplied by the decay
/// first when `decays`.
template <class Isa, class Element, int ROWS, int VECTORS>
HEARTH_INLINE void add_values(const AttentionRow* rows, const ValueTile<Element>& values, int64_t d, int32_t first,
                              int32_t last, bool decays, const float* p) {
  using F8 = typename Isa::F8;
  F8 o[ROWS][VECTORS];
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    const F8 decay = Isa::broadcast(rows[r].decay);
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
      o[r][v] = Isa::load(rows[r].o + d + 8 * v);
      if (decays) o[r][v] = Isa::mul(o[r][v], decay);
    }
  }
  for (int32_t place = first; place < last;) {
    const int32_t run = place / kRunPositions;
    const int32_t run_end = (run + 1) * kRunPositions < last ? (run + 1) * kRunPositions : last;
    for (; place < run_end; ++place) {
      F8 value[VECTORS];
      HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) value[v] = values.template load<Isa>(run, place - run * kRunPositions, d + 8 * v);
      HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
        const F8 probability = Isa::broadcast(p[r * kAttentionTile + place]);
        HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) o[r][v] = Isa::fma(probability, value[v], o[r][v]);
      }
    }
  }
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) Isa::store(rows[r].o + d + 8 * v, o[r][v]);
  }
}

/// All dimensions.
template <class Isa, class Element, int ROWS>
HEARTH_INLINE void add_values_all(const AttentionRow* rows, const ValueTile<Element>& values, int32_t first,
                                  int32_t last, bool decays, const float* p) {
  constexpr int VECTORS = ROWS <= 2 ? 4 : 2;
  int64_t d = 0;
  for (; d + 8 * VECTORS <= values.stride; d += 8 * VECTORS) {
    add_values<Isa, Element, ROWS, VECTORS>(rows, values, d, first, last, decays, p);
  }
  for (; d < values.stride; d += 8) add_values<Isa, Element, ROWS, 1>(rows, values, d, first, last, decays, p);
}

/// The tile for ROWS rows. Rows of different tokens see different places: the ones that all of them see are taken
/// together, the edges row by row. Every row still adds its places in ascending order.
template <class Isa, class Element, int ROWS>
HEARTH_INLINE void value_tile(const AttentionRow* rows, const ValueTile<Element>& values, const float* p) {
  int32_t first = 0;
  int32_t last = kAttentionTile;
  for (int r = 0; r < ROWS; ++r) {
    first = rows[r].first > first ? rows[r].first : first;
    last = rows[r].last < last ? rows[r].last : last;
  }
  if (last < first) last = first;
  for (int r = 0; r < ROWS; ++r) {
    const int32_t edge = rows[r].last < first ? rows[r].last : first;
    add_values_all<Isa, Element, 1>(rows + r, values, rows[r].first, edge, true, p + r * kAttentionTile);
  }
  add_values_all<Isa, Element, ROWS>(rows, values, first, last, false, p);
  for (int r = 0; r < ROWS; ++r) {
    if (rows[r].last > last) {
      add_values_all<Isa, Element, 1>(rows + r, values, last, rows[r].last, false, p + r * kAttentionTile);
    }
  }
}

}  // namespace hearth
