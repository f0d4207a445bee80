#pragma once

// Scores of query rows against one tile of 64 positions, and the running softmax over them (docs/numerics.md,
// "attention", steps 1 to 4).
//
// Keys lie transposed, [head_dim][positions], so that lane = position and a score is one fma chain over head_dim.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/attention_rows.h"
#include "kernels/generic/cache_tile.h"
#include "kernels/generic/math.h"

namespace hearth {

/// scores[row][place] = Σ_d q[d] · k[d][place] · scale, for VECTORS vectors from first_vector on. The same places of the
/// tile `next` are asked for meanwhile: hardware does not foresee steps of a block from dimension to dimension.
template <class Isa, class Keys, int ROWS, int VECTORS>
HEARTH_INLINE void score_vectors(const AttentionRow* rows, int64_t head_dim, float scale, const Keys& keys, const Keys& next,
                                 int first_vector, float* scores) {
  using F8 = typename Isa::F8;
  const auto slice = keys.template slice<VECTORS>(first_vector);
  const auto next_slice = next.template slice<VECTORS>(first_vector);
  const float* q[ROWS];
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) q[r] = rows[r].q;
  F8 acc[ROWS][VECTORS];
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) acc[r][v] = Isa::zero();
  }
  for (int64_t d = 0; d < head_dim; ++d) {
    next_slice.prefetch(d);
    F8 x[ROWS];
    HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) x[r] = Isa::broadcast(q[r][d]);
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
      const F8 k = slice.template load<Isa>(d, v);
      HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) acc[r][v] = Isa::fma(x[r], k, acc[r][v]);
    }
  }
  HEARTH_UNROLL for (int r = 0; r < ROWS; ++r) {
    HEARTH_UNROLL for (int v = 0; v < VECTORS; ++v) {
      Isa::store(scores + r * kAttentionTile + 8 * (first_vector + v), Isa::mul(acc[r][v], Isa::broadcast(scale)));
    }
  }
}

/// Vectors [first, last), in steps of VECTORS, and of less where less is left.
template <class Isa, class Keys, int ROWS, int VECTORS>
HEARTH_INLINE void score_range(const AttentionRow* rows, int64_t head_dim, float scale, const Keys& keys, const Keys& next, int first,
                               int last, float* scores) {
  int v = first / VECTORS * VECTORS;
  for (; v + VECTORS / 2 < last; v += VECTORS) {
    score_vectors<Isa, Keys, ROWS, VECTORS>(rows, head_dim, scale, keys, next, v, scores);
  }
  if constexpr (VECTORS > 1) {
    if (v < last) score_range<Isa, Keys, ROWS, VECTORS / 2>(rows, head_dim, scale, keys, next, v, last, scores);
  }
}

/// Caps the row's scores, makes invisible ones -infinity and finds the largest so far; the state's is still that of the
/// tiles before.
template <class Isa>
HEARTH_INLINE void find_max(AttentionRow& row, float softcap, float* scores) {
  using F8 = typename Isa::F8;
  const F8 never = Isa::broadcast(-HUGE_VALF);
  F8 largest = never;
  for (int place = row.first / 8 * 8; place < row.last; place += 8) {
    F8 s = Isa::load(scores + place);
    const bool is_cut = place < row.first || place + 8 > row.last;
    if (softcap != 0.0f) s = softcap8<Isa>(s, Isa::broadcast(softcap));
    if (is_cut) s = Isa::select(Isa::lanes_between(row.first - place, row.last - place), s, never);
    if (is_cut || softcap != 0.0f) Isa::store(scores + place, s);
    largest = Isa::max(largest, s);
  }
  const float tile_max = Isa::max_lane(largest);
  row.max = row.state->started != 0 && row.state->max > tile_max ? row.state->max : tile_max;
}

/// Turns scores into p_j = exp(s_j - max), +0 where invisible, and moves max and sum of the row's state on.
template <class Isa>
HEARTH_INLINE void softmax_tile(AttentionRow& row, float* scores) {
  using F8 = typename Isa::F8;
  const F8 max = Isa::broadcast(row.max);
  // The sum of places adds +0 for each invisible one, which is the same as skipping it.
  F8 sum = Isa::zero();
  for (int place = row.first / 8 * 8; place < row.last; place += 8) {
    const F8 p = exp8_to_one<Isa>(Isa::sub(Isa::load(scores + place), max));
    sum = Isa::add(sum, p);
    Isa::store(scores + place, p);
  }
  const float tile_sum = Isa::tree_sum(sum);
  AttentionStateHeader& state = *row.state;
  if (state.started == 0) {
    row.decay = 0.0f;
    state.sum = tile_sum;
  } else if (state.max == row.max) {
    // exp(0) is exactly 1.
    row.decay = 1.0f;
    state.sum = state.sum + tile_sum;
  } else {
    float lanes[8];
    Isa::store(lanes, exp8<Isa>(Isa::broadcast(state.max - row.max)));
    row.decay = lanes[0];
    state.sum = Isa::fma(state.sum, row.decay, tile_sum);
  }
  state.max = row.max;
  state.started = 1;
}

/// All of it for rows that each see something of the tile. scores: [num_rows][64], probabilities on return.
template <class Isa, int MOST_ROWS, class Keys>
HEARTH_INLINE void score_tile(AttentionRow* rows, int64_t num_rows, int64_t head_dim, float scale, float softcap, const Keys& keys,
                              const Keys& next, float* scores) {
  // A slice of keys meets all rows before the next one does, so that it stays close.
  for (int start = 0; start < kTileVectors; start += Keys::kMostVectors) {
    const int end = start + Keys::kMostVectors;
    for_each_bundle<MOST_ROWS>(num_rows, [&](int64_t row, auto count) {
      constexpr int ROWS = decltype(count)::value;
      int first = end;
      int last = start;
      for (int64_t r = row; r < row + ROWS; ++r) {
        first = rows[r].first / 8 < first ? rows[r].first / 8 : first;
        last = (rows[r].last + 7) / 8 > last ? (rows[r].last + 7) / 8 : last;
      }
      first = first < start ? start : first;
      last = last > end ? end : last;
      constexpr int VECTORS = bundle_vectors<Isa>(ROWS, Keys::kMostVectors);
      if (first < last) {
        score_range<Isa, Keys, ROWS, VECTORS>(rows + row, head_dim, scale, keys, next, first, last, scores + row * kAttentionTile);
      }
    });
  }
  // Each of the two has a long chain of operations per row. Apart, those of several rows overlap.
  for (int64_t r = 0; r < num_rows; ++r) find_max<Isa>(rows[r], softcap, scores + r * kAttentionTile);
  for (int64_t r = 0; r < num_rows; ++r) softmax_tile<Isa>(rows[r], scores + r * kAttentionTile);
}

}  // namespace hearth
