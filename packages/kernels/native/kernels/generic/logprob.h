#pragma once

// Log-probability of one id and the argmax of a row of logits (docs/numerics.md, "sampling").
//
//   m = row maximum; total = row sum of exp(logit - m); logprob = (logit - m) - log(total)
//
// The argmax is the lowest id that holds the maximum. Logits are finite: the op that wrote them was checked.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/math.h"
#include "kernels/kernel_table.h"

namespace hearth {

template <class Isa>
RowLogprob row_logprob(const float* logits, int64_t vocab_size, int32_t token_id) {
  using F8 = typename Isa::F8;
  const int64_t tail = vocab_size / 8 * 8;
  const typename Isa::M8 in_row = Isa::lanes_between(0, static_cast<int32_t>(vocab_size - tail));
  const F8 last = Isa::select(in_row, Isa::load_partial(logits + tail, vocab_size - tail), Isa::broadcast(-HUGE_VALF));

  F8 largest = last;
  for (int64_t i = 0; i < tail; i += 8) largest = Isa::max(largest, Isa::load(logits + i));
  const float m = Isa::max_lane(largest);
  const F8 maximum = Isa::broadcast(m);

  int64_t argmax = 0;
  while (argmax < tail && Isa::first_equal(Isa::load(logits + argmax), maximum) == 8) argmax += 8;
  argmax += Isa::first_equal(argmax < tail ? Isa::load(logits + argmax) : last, maximum);

  F8 sum = Isa::zero();
  for (int64_t i = 0; i < tail; i += 8) sum = Isa::add(sum, exp8<Isa>(Isa::sub(Isa::load(logits + i), maximum)));
  // Lanes past the row are exp(-infinity) = +0.
  sum = Isa::add(sum, exp8<Isa>(Isa::sub(last, maximum)));

  RowLogprob result;
  result.argmax = static_cast<int32_t>(argmax);
  result.logprob = (logits[token_id] - m) - log1<Isa>(Isa::tree_sum(sum));
  return result;
}

}  // namespace hearth
