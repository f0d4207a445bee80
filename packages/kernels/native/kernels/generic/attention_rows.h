#pragma once

// The query rows of an attention task, what each has gathered so far, and how they are cut into bundles: up to
// Isa::kAttentionDecodeRows (or kAttentionPrefillRows) rows that share each key and value vector that is loaded.

#include <cstdint>
#include <type_traits>

#include "kernels/compiler.h"
#include "kernels/generic/math.h"
#include "kernels/kernel_table.h"

namespace hearth {

static HEARTH_INLINE AttentionStateHeader* state_header(float* state) {
  return reinterpret_cast<AttentionStateHeader*>(state);
}
static HEARTH_INLINE float* state_sums(float* state) { return state + sizeof(AttentionStateHeader) / sizeof(float); }

/// Vectors of a register tile with `rows` rows: the largest power of two, up to `most`, whose sums fit the registers.
template <class Isa>
constexpr int bundle_vectors(int rows, int most) {
  int vectors = 1;
  while (2 * vectors <= most && 2 * vectors * rows <= Isa::kAttentionSums) vectors *= 2;
  return vectors;
}

/// One query row, and what it sees of the current tile: places [first, last).
struct AttentionRow {
  const float* q;
  AttentionStateHeader* state;
  /// Its value sums.
  float* o;
  int32_t first;
  int32_t last;
  /// The largest score so far.
  float max;
  /// What the sums are multiplied with before the tile is added: exp(old max - new max).
  float decay;
};

/// Calls body(integral_constant<int, count>), 1 <= count <= MOST.
template <int MOST, class Body>
HEARTH_INLINE void with_rows(int64_t count, Body&& body) {
  if constexpr (MOST > 1) {
    if (count < MOST) return with_rows<MOST - 1>(count, body);
  }
  body(std::integral_constant<int, MOST>());
}

/// Calls body(first row, integral_constant of the number of rows) for bundles of at most MOST_ROWS rows that make up
/// `num_rows`, as even as possible.
template <int MOST_ROWS, class Body>
HEARTH_INLINE void for_each_bundle(int64_t num_rows, Body&& body) {
  int64_t num_bundles = (num_rows + MOST_ROWS - 1) / MOST_ROWS;
  for (int64_t row = 0; row < num_rows; --num_bundles) {
    // Full ones first, then, from where the rest divides evenly, one row less.
    const int64_t left = num_rows - row;
    const int64_t count = left > num_bundles * (MOST_ROWS - 1) ? MOST_ROWS : (left + num_bundles - 1) / num_bundles;
    with_rows<MOST_ROWS>(count, [&](auto rows) { body(row, rows); });
    row += count;
  }
}

/// Merges the state of a later group into `into`: m = max(m1, m2), x = exp(m1 - m), y = exp(m2 - m),
/// l = fma(l1, x, l2 · y), o = fma(o1, x, o2 · y).
template <class Isa>
HEARTH_INLINE void merge_state(float* into, float* later, int64_t padded_head_dim) {
  using F8 = typename Isa::F8;
  AttentionStateHeader& a = *state_header(into);
  const AttentionStateHeader& b = *state_header(later);
  if (b.started == 0) return;
  float* o1 = state_sums(into);
  const float* o2 = state_sums(later);
  if (a.started == 0) {
    a = b;
    for (int64_t d = 0; d < padded_head_dim; d += 8) Isa::store(o1 + d, Isa::load(o2 + d));
    return;
  }
  const float m = b.max > a.max ? b.max : a.max;
  const F8 x = exp8<Isa>(Isa::broadcast(a.max - m));
  const F8 y = exp8<Isa>(Isa::broadcast(b.max - m));
  float x_lanes[8], y_lanes[8];
  Isa::store(x_lanes, x);
  Isa::store(y_lanes, y);
  a.sum = Isa::fma(a.sum, x_lanes[0], b.sum * y_lanes[0]);
  a.max = m;
  for (int64_t d = 0; d < padded_head_dim; d += 8) {
    Isa::store(o1 + d, Isa::fma(Isa::load(o1 + d), x, Isa::mul(Isa::load(o2 + d), y)));
  }
}

/// out[d] = o[d] / l
template <class Isa>
HEARTH_INLINE typename Isa::F8 finish_row(float* state, int64_t head_dim, float* out, typename Isa::F8 taint) {
  using F8 = typename Isa::F8;
  const F8 sum = Isa::broadcast(state_header(state)->sum);
  const float* o = state_sums(state);
  int64_t d = 0;
  for (; d + 8 <= head_dim; d += 8) {
    const F8 y = Isa::div(Isa::load(o + d), sum);
    Isa::store(out + d, y);
    taint = Isa::taint(taint, y);
  }
  if (d < head_dim) {
    const F8 y = Isa::div(Isa::load(o + d), sum);
    Isa::store_partial(out + d, y, head_dim - d);
    taint = Isa::taint(taint, y);
  }
  return taint;
}

template <class Isa>
HEARTH_INLINE void reset_states(float* states, int64_t num_rows, int64_t padded_head_dim) {
  const int64_t num_floats = num_rows * attention_state_floats(padded_head_dim);
  for (int64_t i = 0; i < num_floats; i += 8) Isa::store(states + i, Isa::zero());
}

}  // namespace hearth
