#pragma once

// Causal grouped-query attention of up to 32 consecutive tokens of one sequence over the paged cache, for the query heads of
// one key/value head (docs/numerics.md, "attention").
//
//   out[row] = Σ_j softmax_j(q[row] · k_j · scale) · v_j      over the visible positions j of row = (token, head)
//
// Cache (drawn in docs/shapes.md): keys [block][kv head][head_dim][position], values [block][kv head][position][head_dim
// rounded up to 8], f32, f16 or q8. Positions are walked in tiles of 64 and groups of 8 tiles, both aligned at position 0;
// the state of a group starts fresh and is merged into the groups before it, so a group can also be computed elsewhere and
// merged later (`merge_attention`): same bits.
//
// Decode (few rows) reads a tile where it is and asks for the next one meanwhile, during its last tile for the first one of the
// thread's next task: it is bound by memory. Prefill widens each tile to f32 once and then passes all rows over it, keys
// first, values after: it is bound by arithmetic.

#include <cstdint>

#include "kernels/generic/attention_rows.h"
#include "kernels/generic/attention_scores.h"
#include "kernels/generic/attention_values.h"

namespace hearth {

/// The pieces of attention_scratch_floats(), in order.
struct AttentionScratch {
  float* keys;
  float* values;
  /// [rows][64]
  float* probabilities;
  /// States of the group at hand, and of all groups so far; [rows] each.
  float* group_states;
  float* total_states;
  AttentionRow* rows;

  static HEARTH_INLINE AttentionScratch at(float* scratch, int64_t heads_per_kv, int64_t padded_head_dim) {
    const int64_t num_rows = kQueryTileTokens * heads_per_kv;
    const int64_t states = num_rows * attention_state_floats(padded_head_dim);
    AttentionScratch s;
    s.keys = scratch;
    s.values = s.keys + kAttentionTile * padded_head_dim;
    s.probabilities = s.values + wide_value_floats(padded_head_dim);
    s.group_states = s.probabilities + num_rows * kAttentionTile;
    s.total_states = s.group_states + states;
    s.rows = reinterpret_cast<AttentionRow*>(s.total_states + states);
    return s;
  }
};
static_assert(sizeof(AttentionRow) <= kAttentionRowFloats * sizeof(float), "the scratch has room for rows");

/// Rows whose states are at `states`.
static HEARTH_INLINE void set_rows(const AttentionTask& task, float* states, AttentionRow* rows) {
  for (int64_t token = 0; token < task.num_tokens; ++token) {
    for (int64_t head = 0; head < task.heads_per_kv; ++head, ++rows, states += attention_state_floats(task.padded_head_dim)) {
      rows->q = task.q + token * task.q_stride + head * task.head_dim;
      rows->state = state_header(states);
      rows->o = state_sums(states);
    }
  }
}

/// Rows [first, last).
struct RowRange {
  int64_t first;
  int64_t last;
};

/// Sets the places that each row sees of the tile at tile_start, and gives the rows that see any.
static HEARTH_INLINE RowRange place_rows(const AttentionTask& task, int32_t tile_start, AttentionRow* rows) {
  RowRange range{0, 0};
  for (int32_t token = 0; token < task.num_tokens; ++token) {
    const int32_t position = task.first_position + token;
    const int32_t first_visible = task.window > position ? 0 : position - task.window + 1;
    const int32_t first = first_visible > tile_start ? first_visible - tile_start : 0;
    const int32_t last = position - tile_start < kAttentionTile ? position - tile_start + 1 : kAttentionTile;
    // Positions ascend, so the tokens that see something follow each other.
    if (first >= kAttentionTile || last <= first) continue;
    const int64_t row = int64_t{token} * task.heads_per_kv;
    if (range.last == 0) range.first = row;
    range.last = row + task.heads_per_kv;
    for (int64_t r = row; r < range.last; ++r) {
      rows[r].first = first;
      rows[r].last = last;
    }
  }
  return range;
}

/// Moves the states of the rows in `range` on by one tile, and asks for the next one.
template <class Isa, int MOST_ROWS, class Keys, class Values>
void attend_tile(const AttentionTask& task, const AttentionScratch& scratch, const RowRange& range, const Keys& keys, const Keys& next_keys,
                 const Values& values, const Values& next_values) {
  AttentionRow* rows = scratch.rows + range.first;
  const int64_t num_rows = range.last - range.first;
  score_tile<Isa, MOST_ROWS>(rows, num_rows, task.head_dim, task.scale, task.softcap, keys, next_keys, scratch.probabilities);
  value_tile<Isa, MOST_ROWS>(rows, num_rows, task.padded_head_dim, values, next_values, scratch.probabilities);
}

static HEARTH_INLINE int32_t last_position(const AttentionTask& task) { return task.first_position + task.num_tokens - 1; }

/// Where the first tile starts that any row sees, of `group` or a later one.
static HEARTH_INLINE int32_t first_visible_tile(const AttentionTask& task, int32_t group) {
  const int32_t first_visible = task.window > task.first_position ? 0 : task.first_position - task.window + 1;
  const int32_t tile = first_visible / kAttentionTile * kAttentionTile;
  const int32_t group_start = group * kAttentionGroup;
  return tile > group_start ? tile : group_start;
}

/// The tile to ask for during that at `tile`: the next one of the task, or the first of its thread's next task. Where none is
/// known, they stay what they are.
template <class Element>
HEARTH_INLINE void locate_next_tile(const AttentionTask& task, int32_t tile, KeyTile<Element>* keys, ValueTile<Element>* values) {
  const int32_t next_tile = tile + kAttentionTile;
  if (next_tile <= last_position(task) && next_tile < task.last_group * kAttentionGroup) {
    locate_tile(task, next_tile, last_position(task), keys, values);
  } else if (task.next != nullptr) {
    const AttentionTask& next = *task.next;
    locate_tile(next, first_visible_tile(next, next.first_group), last_position(next), keys, values);
  }
}

/// The tiles of one group, from `first_tile` on.
template <class Isa, class Element>
void attend_group(const AttentionTask& task, const AttentionScratch& scratch, int32_t first_tile) {
  const WideKeys wide_keys{scratch.keys, task.head_dim};
  const WideValues wide_values{scratch.values};
  KeyTile<Element> keys, next_keys;
  ValueTile<Element> values, next_values;
  locate_tile(task, first_tile, last_position(task), &keys, &values);
  next_keys = keys;
  next_values = values;
  const int32_t group_end = first_tile / kAttentionGroup * kAttentionGroup + kAttentionGroup;
  for (int32_t tile = first_tile; tile < group_end && tile <= last_position(task); tile += kAttentionTile) {
    locate_next_tile(task, tile, &next_keys, &next_values);
    const RowRange range = place_rows(task, tile, scratch.rows);
    if (range.last - range.first > Isa::kAttentionDirectRows) {
      widen_tile<Isa>(keys, values, wide_keys, wide_values);
      attend_tile<Isa, Isa::kAttentionPrefillRows>(task, scratch, range, wide_keys, wide_keys, wide_values, wide_values);
    } else {
      attend_tile<Isa, Isa::kAttentionDecodeRows>(task, scratch, range, keys, next_keys, values, next_values);
    }
    keys = next_keys;
    values = next_values;
  }
}

template <class Isa, class Element>
bool attention(const AttentionTask& task) {
  const AttentionScratch scratch = AttentionScratch::at(task.scratch, task.heads_per_kv, task.padded_head_dim);
  const int64_t num_rows = int64_t{task.num_tokens} * task.heads_per_kv;
  const int64_t state_floats = attention_state_floats(task.padded_head_dim);
  reset_states<Isa>(scratch.total_states, num_rows, task.padded_head_dim);
  // The first group needs no merging.
  float* states = scratch.total_states;
  for (int32_t group = task.first_group; group < task.last_group; ++group) {
    const int32_t first_tile = first_visible_tile(task, group);
    if (first_tile >= (group + 1) * kAttentionGroup || first_tile > last_position(task)) continue;
    if (states == scratch.group_states) reset_states<Isa>(states, num_rows, task.padded_head_dim);
    set_rows(task, states, scratch.rows);
    attend_group<Isa, Element>(task, scratch, first_tile);
    if (states == scratch.group_states) {
      for (int64_t row = 0; row < num_rows; ++row) {
        merge_state<Isa>(scratch.total_states + row * state_floats, states + row * state_floats, task.padded_head_dim);
      }
    }
    states = scratch.group_states;
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
