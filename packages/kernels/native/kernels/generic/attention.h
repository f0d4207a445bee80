#pragma once

// Causal grouped-query attention of up to 16 consecutive tokens of one sequence over the paged cache, for the query heads of
// one key/value head (docs/numerics.md, "attention").
//
//   out[row] = Σ_j softmax_j(q[row] · k_j · scale) · v_j      over the visible positions j of row = (token, head)
//
// Cache (drawn in docs/shapes.md): keys [block][kv head][head_dim][position], values [block][kv head][position][head_dim
// rounded up to 8], f32, f16 or q8. Positions are walked in tiles of 64 and groups of 8 tiles, both aligned at position 0; the
// state of a group starts fresh and is merged into the groups before it, so a group can also be computed elsewhere and
// merged later (`merge_attention`): same bits.
//
// A tile is used by all rows, in bundles (four rows in AVX2) that share each key and value load. When there is more than one bundle,
// the tile is widened once into scratch; decode reads the cache directly.

#include <cstdint>
#include <type_traits>

#include "kernels/generic/attention_scores.h"
#include "kernels/generic/attention_values.h"

namespace hearth {

/// The pieces of attention_scratch_floats(), in order.
struct AttentionScratch {
  float* probabilities;
  float* keys;
  float* values;
  /// States of the group at hand, and of all groups so far; [rows] each.
  float* group_states;
  float* total_states;

  static HEARTH_INLINE AttentionScratch at(float* scratch, int64_t heads_per_kv, int64_t padded_head_dim) {
    AttentionScratch s;
    s.probabilities = scratch;
    s.keys = s.probabilities + kMaxBundleRows * kAttentionTile;
    s.values = s.keys + kAttentionTile * padded_head_dim;
    s.group_states = s.values + kAttentionTile * padded_head_dim;
    s.total_states = s.group_states + kQueryTileTokens * heads_per_kv * attention_state_floats(padded_head_dim);
    return s;
  }
};

static HEARTH_INLINE AttentionStateHeader* state_header(float* state) {
  return reinterpret_cast<AttentionStateHeader*>(state);
}
static HEARTH_INLINE float* state_sums(float* state) { return state + sizeof(AttentionStateHeader) / sizeof(float); }

/// The tile as f32 in scratch: keys [head_dim][64], values [64][padded_head_dim].
template <class Isa, class Element>
HEARTH_INLINE void widen_tile(const AttentionTask& task, const AttentionScratch& scratch, const KeyTile<Element>& keys,
                              const ValueTile<Element>& values, KeyTile<float>* wide_keys, ValueTile<float>* wide_values) {
  for (int32_t d = 0; d < task.head_dim; ++d) {
    for (int v = 0; v < kTileVectors; ++v) {
      Isa::store(scratch.keys + d * kAttentionTile + 8 * v, keys.template load<Isa>(v, d));
    }
  }
  for (int run = 0; run < kTileRuns; ++run) {
    float* to = scratch.values + run * kRunPositions * values.stride;
    for (int place = 0; place < kRunPositions; ++place) {
      for (int64_t d = 0; d < values.stride; d += 8) {
        Isa::store(to + place * values.stride + d, values.template load<Isa>(run, place, d));
      }
    }
    wide_values->runs[run] = to;
  }
  for (int v = 0; v < kTileVectors; ++v) wide_keys->vectors[v] = scratch.keys + 8 * v;
  wide_keys->stride = kAttentionTile;
  wide_values->stride = values.stride;
}

/// `count` rows, 0 .. ROWS, against one tile.
template <class Isa, class Element, int ROWS>
HEARTH_INLINE void attend_bundle(const AttentionTask& task, AttentionRow* rows, int count, const KeyTile<Element>& keys,
                                 const ValueTile<Element>& values, float* probabilities) {
  if constexpr (ROWS > 0) {
    if (count < ROWS) return attend_bundle<Isa, Element, ROWS - 1>(task, rows, count, keys, values, probabilities);
    score_tile<Isa, Element, ROWS>(rows, task.head_dim, task.scale, task.softcap, keys, probabilities);
    value_tile<Isa, Element, ROWS>(rows, values, probabilities);
  }
}

/// All rows against one tile; rows that see nothing of it are left out.
template <class Isa, class Element>
void attend_tile(const AttentionTask& task, int32_t tile_start, const KeyTile<Element>& keys,
                 const ValueTile<Element>& values, const AttentionScratch& scratch) {
  const int64_t state_floats = attention_state_floats(task.padded_head_dim);
  AttentionRow bundle[Isa::kBundleRows];
  int count = 0;
  static_assert(Isa::kBundleRows <= kMaxBundleRows, "probabilities have room for so many rows");
  const auto flush = [&] {
    attend_bundle<Isa, Element, Isa::kBundleRows>(task, bundle, count, keys, values, scratch.probabilities);
    count = 0;
  };
  for (int32_t token = 0; token < task.num_tokens; ++token) {
    const int32_t position = task.first_position + token;
    const int32_t first_visible = task.window > position ? 0 : position - task.window + 1;
    const int32_t first = first_visible > tile_start ? first_visible - tile_start : 0;
    const int32_t last = position - tile_start < kAttentionTile ? position - tile_start + 1 : kAttentionTile;
    if (first >= kAttentionTile || last <= first) continue;
    for (int32_t head = 0; head < task.heads_per_kv; ++head) {
      float* state = scratch.group_states + (int64_t{token} * task.heads_per_kv + head) * state_floats;
      AttentionRow& row = bundle[count++];
      row.q = task.q + token * task.q_stride + int64_t{head} * task.head_dim;
      row.state = state_header(state);
      row.o = state_sums(state);
      row.first = first;
      row.last = last;
      if (count == Isa::kBundleRows) flush();
    }
  }
  flush();
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

template <class Isa, class Element>
bool attention(const AttentionTask& task) {
  const AttentionScratch scratch = AttentionScratch::at(task.scratch, task.heads_per_kv, task.padded_head_dim);
  const int64_t num_rows = int64_t{task.num_tokens} * task.heads_per_kv;
  const int64_t state_floats = attention_state_floats(task.padded_head_dim);
  const int32_t last_position = task.first_position + task.num_tokens - 1;
  const int32_t first_visible = task.window > task.first_position ? 0 : task.first_position - task.window + 1;
  reset_states<Isa>(scratch.total_states, num_rows, task.padded_head_dim);
  for (int32_t group = task.first_group; group < task.last_group; ++group) {
    reset_states<Isa>(scratch.group_states, num_rows, task.padded_head_dim);
    const int32_t group_start = group * kAttentionGroup;
    for (int32_t tile = 0; tile < kAttentionGroup; tile += kAttentionTile) {
      const int32_t tile_start = group_start + tile;
      if (tile_start > last_position) break;
      if (tile_start + kAttentionTile <= first_visible) continue;
      KeyTile<Element> keys;
      ValueTile<Element> values;
      locate_tile(task, tile_start, last_position, &keys, &values);
      if (!std::is_same<Element, float>::value && num_rows > Isa::kBundleRows) {
        KeyTile<float> wide_keys;
        ValueTile<float> wide_values;
        widen_tile<Isa>(task, scratch, keys, values, &wide_keys, &wide_values);
        attend_tile<Isa>(task, tile_start, wide_keys, wide_values, scratch);
      } else {
        attend_tile<Isa>(task, tile_start, keys, values, scratch);
      }
    }
    for (int64_t row = 0; row < num_rows; ++row) {
      merge_state<Isa>(scratch.total_states + row * state_floats, scratch.group_states + row * state_floats,
                       task.padded_head_dim);
    }
  }
  typename Isa::F8 taint = Isa::zero();
  for (int64_t row = 0; row < num_rows; ++row) {
    float* state = scratch.total_states + row * state_floats;
    if (task.out == nullptr) {
      float* to = task.states + row * task.state_stride;
      for (int64_t i = 0; i < state_floats; i += 8) Isa::store(to + i, Isa::load(state + i));
    } else {
      float* out = task.out + row / task.heads_per_kv * task.out_stride + row % task.heads_per_kv * task.head_dim;
      taint = finish_row<Isa>(state, task.head_dim, out, taint);
    }
  }
  return Isa::is_clean(taint);
}

template <class Isa>
bool merge_attention(float* states, int64_t num_groups, int64_t state_stride, int64_t head_dim, float* out) {
  const int64_t padded_head_dim = (head_dim + 7) / 8 * 8;
  for (int64_t group = 1; group < num_groups; ++group) {
    merge_state<Isa>(states, states + group * state_stride, padded_head_dim);
  }
  return Isa::is_clean(finish_row<Isa>(states, head_dim, out, Isa::zero()));
}

}  // namespace hearth
