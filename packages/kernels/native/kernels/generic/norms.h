#pragma once

// Root-mean-square norm and layer norm of one row (docs/numerics.md, "rms-norm" and "layer-norm"). Sums are row sums: lane r
// of a vector takes elements r, r + 8 ..., then one tree. Each kernel returns whether all values written are finite.

#include <cmath>
#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/rows.h"

namespace hearth {

/// 1 / sqrt(sum of squares / width + eps)
template <class Isa>
HEARTH_INLINE float inverse_deviation(typename Isa::F8 squares, float eps, int64_t width) {
  return 1.0f / std::sqrt(Isa::tree_sum(squares) / static_cast<float>(width) + eps);
}

/// out = (x · r) · weight with r = 1 / sqrt(ss / width + eps), ss = row sum of fma(x, x, lane). out may be x.
template <class Isa>
bool rms_norm(const float* x, const float* weight, float eps, int64_t width, float* out) {
  using F8 = typename Isa::F8;
  F8 squares = Isa::zero();
  const auto add_square = [&](F8 v) { squares = Isa::fma(v, v, squares); };
  for_each_vector(
      width, [&](int64_t i) { add_square(Isa::load(x + i)); },
      [&](int64_t i, int64_t n) { add_square(Isa::load_partial(x + i, n)); });
  // Lanes past the row hold 0 · r, which is NaN when r is infinite: eps 0 and a row of zeros, where every lane is.
  const F8 r = Isa::broadcast(inverse_deviation<Isa>(squares, eps, width));
  return map_row<Isa>(width, out, [=](const auto& at) { return Isa::mul(Isa::mul(at(x), r), at(weight)); });
}

/// out = ((d · r) · weight) + bias with d = x - mean and r = 1 / sqrt(ss / width + eps), ss = row sum of fma(d, d, lane).
/// out may be x.
template <class Isa>
bool layer_norm(const float* x, const float* weight, const float* bias, float eps, int64_t width, float* out) {
  using F8 = typename Isa::F8;
  F8 sum = Isa::zero();
  for_each_vector(
      width, [&](int64_t i) { sum = Isa::add(sum, Isa::load(x + i)); },
      [&](int64_t i, int64_t n) { sum = Isa::add(sum, Isa::load_partial(x + i, n)); });
  const F8 mean = Isa::broadcast(Isa::tree_sum(sum) / static_cast<float>(width));

  const auto full = [&](int64_t i) { return Isa::sub(Isa::load(x + i), mean); };
  // Lanes past the row would hold -mean.
  const auto partial = [&](int64_t i, int64_t n) {
    const typename Isa::M8 in_row = Isa::lanes_between(0, static_cast<int32_t>(n));
    return Isa::select(in_row, Isa::sub(Isa::load_partial(x + i, n), mean), Isa::zero());
  };
  F8 squares = Isa::zero();
  const auto add_square = [&](F8 d) { squares = Isa::fma(d, d, squares); };
  for_each_vector(
      width, [&](int64_t i) { add_square(full(i)); }, [&](int64_t i, int64_t n) { add_square(partial(i, n)); });

  const F8 r = Isa::broadcast(inverse_deviation<Isa>(squares, eps, width));
  F8 taint = Isa::zero();
  const auto finish = [&](F8 d, F8 w, F8 b) {
    const F8 y = Isa::add(Isa::mul(Isa::mul(d, r), w), b);
    taint = Isa::taint(taint, y);
    return y;
  };
  for_each_vector(
      width,
      [&](int64_t i) { Isa::store(out + i, finish(full(i), Isa::load(weight + i), Isa::load(bias + i))); },
      [&](int64_t i, int64_t n) {
        Isa::store_partial(out + i, finish(partial(i, n), Isa::load_partial(weight + i, n), Isa::load_partial(bias + i, n)), n);
      });
  return Isa::is_clean(taint);
}

}  // namespace hearth
