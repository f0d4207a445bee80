#pragma once

// The experts that a row goes to, from its router logits (docs/numerics.md, "moe-mlp").
//
//   weight_e = exp(logit_e - m) / (row sum over all experts of exp(logit - m)), m = largest logit
//
// of the `count` largest logits, the lower id first where two are equal; with `normalize` then divided by their own sum,
// added up from the largest logit down. Ids and weights are returned in ascending id. Returns false for NaN among the logits,
// ids being valid all the same. From finite logits the weights are finite, because the sum is at least 1.

#include <cmath>
#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/math.h"
#include "kernels/generic/rows.h"

namespace hearth {

/// Largest first. The next one is the largest of those that come after the one before: smaller, or equal with a higher id.
/// Returns false when there is none, as NaN is neither; what is missing is then filled up with expert 0.
static HEARTH_INLINE bool order_experts(const float* logits, int64_t num_experts, int64_t count, int32_t* experts) {
  bool complete = true;
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t best = -1;
    for (int64_t e = 0; e < num_experts; ++e) {
      const bool is_left = last < 0 || logits[e] < logits[last] || (logits[e] == logits[last] && e > last);
      if (is_left && (best < 0 || logits[e] > logits[best])) best = e;
    }
    complete &= best >= 0;
    experts[i] = best < 0 ? 0 : static_cast<int32_t>(best);
    last = experts[i];
  }
  return complete;
}

/// Insertion sort by id; there are few.
static HEARTH_INLINE void sort_by_id(int64_t count, int32_t* experts, float* weights) {
  for (int64_t i = 1; i < count; ++i) {
    const int32_t expert = experts[i];
    const float weight = weights[i];
    int64_t at = i;
    for (; at > 0 && experts[at - 1] > expert; --at) {
      experts[at] = experts[at - 1];
      weights[at] = weights[at - 1];
    }
    experts[at] = expert;
    weights[at] = weight;
  }
}

template <class Isa>
bool choose_experts(const float* logits, int64_t num_experts, int64_t count, bool normalize, int32_t* experts, float* weights) {
  using F8 = typename Isa::F8;
  const bool complete = order_experts(logits, num_experts, count, experts);
  const F8 m = Isa::broadcast(logits[experts[0]]);
  F8 sum = Isa::zero();
  for_each_vector(
      num_experts, [&](int64_t i) { sum = Isa::add(sum, exp8<Isa>(Isa::sub(Isa::load(logits + i), m))); },
      [&](int64_t i, int64_t n) {
        // Lanes past the row are exp(-infinity) = +0.
        const F8 in_row = Isa::select(Isa::lanes_between(0, static_cast<int32_t>(n)), Isa::load_partial(logits + i, n),
                                      Isa::broadcast(-HUGE_VALF));
        sum = Isa::add(sum, exp8<Isa>(Isa::sub(in_row, m)));
      });
  const F8 total = Isa::broadcast(Isa::tree_sum(sum));
  for (int64_t i = 0; i < count; ++i) weights[i] = logits[experts[i]];
  const auto softmax = [&](F8 logit) { return Isa::div(exp8<Isa>(Isa::sub(logit, m)), total); };
  for_each_vector(
      count, [&](int64_t i) { Isa::store(weights + i, softmax(Isa::load(weights + i))); },
      [&](int64_t i, int64_t n) { Isa::store_partial(weights + i, softmax(Isa::load_partial(weights + i, n)), n); });
  if (normalize) {
    float chosen = 0.0f;
    for (int64_t i = 0; i < count; ++i) chosen = chosen + weights[i];
    for (int64_t i = 0; i < count; ++i) weights[i] = weights[i] / chosen;
  }
  sort_by_id(count, experts, weights);
  return complete;
}

}  // namespace hearth
