#pragma once

// Kernels over one row: elementwise sums and products, softcap, rotary embedding.
//
// Rows are f32 vectors of any width in any alignment; the last width mod 8 elements go through partial loads, whose
// other lanes are +0 and change no sum. Rounding: f32 after every operation, an fma where docs/numerics.md has one.
// Results are the same bits in every variant. Each returns whether all values written are finite.

#include <cmath>
#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/math.h"

namespace hearth {

/// Calls full(i) for each whole vector of a row and partial(i, n) for the n < 8 elements left.
template <class Full, class Partial>
HEARTH_INLINE void for_each_vector(int64_t width, Full&& full, Partial&& partial) {
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) full(i);
  if (i < width) partial(i, width - i);
}

/// out[i] = compute(at), where at(row) is the vector of another row at i; `out` may be any of those rows. Lanes past the row
/// are computed from +0 and must come out finite.
template <class Isa, class Compute>
HEARTH_INLINE bool map_row(int64_t width, float* out, Compute&& compute) {
  using F8 = typename Isa::F8;
  F8 taint = Isa::zero();
  for_each_vector(
      width,
      [&](int64_t i) {
        const F8 y = compute([i](const float* row) { return Isa::load(row + i); });
        Isa::store(out + i, y);
        taint = Isa::taint(taint, y);
      },
      [&](int64_t i, int64_t n) {
        const F8 y = compute([i, n](const float* row) { return Isa::load_partial(row + i, n); });
        Isa::store_partial(out + i, y, n);
        taint = Isa::taint(taint, y);
      });
  return Isa::is_clean(taint);
}

/// residual = residual + delta
template <class Isa>
bool add_rows(float* residual, const float* delta, int64_t width) {
  return map_row<Isa>(width, residual, [=](const auto& at) { return Isa::add(at(residual), at(delta)); });
}

/// out = out + factor · x, the product rounded first
template <class Isa>
bool add_scaled(float* out, const float* x, float factor, int64_t width) {
  const typename Isa::F8 f = Isa::broadcast(factor);
  return map_row<Isa>(width, out, [=](const auto& at) { return Isa::add(at(out), Isa::mul(f, at(x))); });
}

/// x = x · factor
template <class Isa>
bool scale_row(float* x, float factor, int64_t width) {
  const typename Isa::F8 f = Isa::broadcast(factor);
  return map_row<Isa>(width, x, [=](const auto& at) { return Isa::mul(at(x), f); });
}

/// x = cap · tanh(x / cap), cap > 0
template <class Isa>
bool softcap_row(float* x, float cap, int64_t width) {
  const typename Isa::F8 c = Isa::broadcast(cap);
  return map_row<Isa>(width, x, [=](const auto& at) { return softcap8<Isa>(at(x), c); });
}

/// out = [cos(angle) · scaling for each pair, sin(angle) · scaling for each pair], angle = float(position) · inv_freq.
template <class Isa>
bool rope_table(const float* inv_freq, int64_t num_pairs, float scaling, int32_t position, float* out) {
  const float p = static_cast<float>(position);
  bool finite = true;
  for (int64_t i = 0; i < num_pairs; ++i) {
    float sine, cosine;
    sincos1<Isa>(p * inv_freq[i], &sine, &cosine);
    out[i] = cosine * scaling;
    out[num_pairs + i] = sine * scaling;
    // x - x is 0 for finite x, NaN otherwise.
    finite &= out[i] - out[i] == 0.0f && out[num_pairs + i] - out[num_pairs + i] == 0.0f;
  }
  return finite;
}

/// For each head and pair (a, b) = (x[i], x[i + rotary_dim / 2]), in place: a' = a · cos - b · sin, b' = b · cos + a · sin.
/// Dimensions from rotary_dim on stay as they are.
template <class Isa>
bool rope(float* x, const float* table, int64_t num_heads, int64_t head_dim, int64_t rotary_dim) {
  using F8 = typename Isa::F8;
  const int64_t half = rotary_dim / 2;
  F8 taint = Isa::zero();
  for (int64_t head = 0; head < num_heads; ++head) {
    float* first = x + head * head_dim;
    float* second = first + half;
    const auto rotate = [&](F8 a, F8 b, F8 cosine, F8 sine, F8* a_out, F8* b_out) {
      *a_out = Isa::sub(Isa::mul(a, cosine), Isa::mul(b, sine));
      *b_out = Isa::add(Isa::mul(b, cosine), Isa::mul(a, sine));
      taint = Isa::taint(Isa::taint(taint, *a_out), *b_out);
    };
    F8 a, b;
    for_each_vector(
        half,
        [&](int64_t i) {
          rotate(Isa::load(first + i), Isa::load(second + i), Isa::load(table + i), Isa::load(table + half + i), &a, &b);
          Isa::store(first + i, a);
          Isa::store(second + i, b);
        },
        [&](int64_t i, int64_t n) {
          rotate(Isa::load_partial(first + i, n), Isa::load_partial(second + i, n), Isa::load_partial(table + i, n),
                 Isa::load_partial(table + half + i, n), &a, &b);
          Isa::store_partial(first + i, a, n);
          Isa::store_partial(second + i, b, n);
        });
    // Dimensions that do not rotate are part of what the op produces, but they were checked when they were written.
  }
  return Isa::is_clean(taint);
}

}  // namespace hearth
