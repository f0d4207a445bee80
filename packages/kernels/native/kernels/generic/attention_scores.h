#pragma once

// Scores of a bundle of query rows against one tile of 64 positions, and the running softmax over them
// (docs/numerics.md, "attention", steps 1 to 4).
//
// Keys lie transposed, [head_dim][positions], so that lane = position and a score is one fma chain over head_dim.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/cache_tile.h"
#include "kernels/generic/math.h"
#include "kernels/kernel_table.h"

namespace hearth {

/// One query row and what it sees of the current tile: places [first, last), and what it has gathered so far.
struct AttentionRow {
  const float* q;
  AttentionStateHeader* state;
  float* o;
  int32_t first;
  int32_t last;
  /// What the state's sums are multiplied with before this tile is added: exp(old max - new max).
  float decay;
};

/// scores[row][place] = Σ_d q[d] · k[d][place], for VECTORS vectors from first_vector on.
template <class Isa, class Element, int ROWS, int VECTORS>
HEARTH_INLINE void score_vectors(const AttentionRow* rows, int32_t head_dim, const KeyTile<Element>& keys,
                                 int first_vector, float* scores) {
  using F8 = typename Isa::F8;
  F8 acc[ROWS][VECTORS];
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) acc[r][v] = Isa::zero();
  }
  for (int32_t d = 0; d < head_dim; ++d) {
    F8 k[VECTORS];
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) k[v] = keys.template load<Isa>(first_vector + v, d);
    HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
      const F8 q = Isa::broadcast(rows[r].q[d]);
      HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) acc[r][v] = Isa::fma(q, k[v], acc[r][v]);
    }
  }
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
      Isa::store(scores + r * kAttentionTile + 8 * (first_vector + v), acc[r][v]);
    }
  }
}

/// Turns the row's products into p_j = exp(s_j - max), +0 where invisible, and moves max and sum of its state on.
/// s_j = product · scale, capped when softcap is not 0.
template <class Isa>
HEARTH_INLINE void softmax_tile(AttentionRow& row, float scale, float softcap, int first_vector, int last_vector, float* scores) {
  using F8 = typename Isa::F8;
  const F8 never = Isa::broadcast(-HUGE_VALF);
  F8 largest = never;
  for (int v = first_vector; v < last_vector; ++v) {
    F8 s = Isa::mul(Isa::load(scores + 8 * v), Isa::broadcast(scale));
    if (softcap != 0.0f) s = softcap8<Isa>(s, Isa::broadcast(softcap));
    const F8 visible = Isa::select(Isa::lanes_between(row.first - 8 * v, row.last - 8 * v), s, never);
    largest = Isa::max(largest, visible);
    Isa::store(scores + 8 * v, visible);
  }
  AttentionStateHeader& state = *row.state;
  const float tile_max = Isa::max_lane(largest);
  const float new_max = state.started != 0 && state.max > tile_max ? state.max : tile_max;
  // The sum of places adds +0 for each invisible one, which is the same as skipping it.
  F8 sum = Isa::zero();
  for (int v = first_vector; v < last_vector; ++v) {
    const F8 p = exp8<Isa>(Isa::sub(Isa::load(scores + 8 * v), Isa::broadcast(new_max)));
    sum = Isa::add(sum, p);
    Isa::store(scores + 8 * v, p);
  }
  const float tile_sum = Isa::tree_sum(sum);
  if (state.started != 0) {
    float lanes[8];
    Isa::store(lanes, exp8<Isa>(Isa::broadcast(state.max - new_max)));
    row.decay = lanes[0];
    state.sum = Isa::fma(state.sum, row.decay, tile_sum);
  } else {
    row.decay = 0.0f;
    state.sum = tile_sum;
  }
  state.max = new_max;
  state.started = 1;
}

/// All of it for ROWS rows that see something of this tile. scores: [ROWS][64] of scratch, probabilities on return.
template <class Isa, class Element, int ROWS>
HEARTH_INLINE void score_tile(AttentionRow* rows, int32_t head_dim, float scale, float softcap,
                              const KeyTile<Element>& keys, float* scores) {
  // Few rows take more vectors at once, so that enough independent chains hide the latency of the fma.
  constexpr int VECTORS = ROWS <= 2 ? 4 : 2;
  int32_t first = kAttentionTile;
  int32_t last = 0;
  for (int r = 0; r < ROWS; ++r) {
    first = rows[r].first < first ? rows[r].first : first;
    last = rows[r].last > last ? rows[r].last : last;
  }
  const int first_vector = first / (8 * VECTORS) * VECTORS;
  const int last_vector = (last + 8 * VECTORS - 1) / (8 * VECTORS) * VECTORS;
  for (int v = first_vector; v < last_vector; v += VECTORS) {
    score_vectors<Isa, Element, ROWS, VECTORS>(rows, head_dim, keys, v, scores);
  }
  for (int r = 0; r < ROWS; ++r) {
    softmax_tile<Isa>(rows[r], scale, softcap, first_vector, last_vector, scores + r * kAttentionTile);
  }
}

}  // namespace hearth
