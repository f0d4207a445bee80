#pragma once

// Writes one head's key and value of one position to the cache, rounded to its type.
//
// Keys lie [head_dim][block_size], values [block_size][padded_head_dim] (docs/shapes.md). Returns whether every value can
// be stored: is finite, and in f16 or q8 still is when it is read back.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/cache_tile.h"
#include "kernels/kernel_table.h"

namespace hearth {

/// Stores x[0 .. n) to `to`, `step` elements apart.
template <class Element>
HEARTH_INLINE void scatter(const Element* x, int64_t n, Element* to, int64_t step) {
  for (int64_t i = 0; i < n; ++i) to[i * step] = x[i];
}

/// x[0 .. n) as f32 or f16, `step` elements apart. What was stored is read back to see whether it is finite.
template <class Isa, class Element>
HEARTH_INLINE bool write_elements(const float* x, int64_t n, Element* to, int64_t step) {
  typename Isa::F8 taint = Isa::zero();
  Element rounded[8];
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Isa::store(rounded, Isa::load(x + i));
    taint = Isa::taint(taint, Isa::load(rounded));
    scatter(rounded, 8, to + i * step, step);
  }
  if (i < n) {
    Isa::store(rounded, Isa::load_partial(x + i, n - i));
    taint = Isa::taint(taint, Isa::load(rounded));
    scatter(rounded, n - i, to + i * step, step);
  }
  return Isa::is_clean(taint);
}

/// x[0 .. n) as q8 codes, `step` apart, and their scale: amax / 127, codes x · (127 / amax) rounded half to even.
template <class Isa>
HEARTH_INLINE bool write_codes(const float* x, int64_t n, int8_t* to, int64_t step, float* scale_to) {
  using F8 = typename Isa::F8;
  F8 largest = Isa::zero();
  F8 taint = Isa::zero();
  for (int64_t i = 0; i < n; i += 8) {
    const F8 v = n - i < 8 ? Isa::load_partial(x + i, n - i) : Isa::load(x + i);
    largest = Isa::max(largest, Isa::abs(v));
    taint = Isa::taint(taint, v);
  }
  const float amax = Isa::max_lane(largest);
  const bool is_zero = amax < 0x1p-120f;
  const float scale = is_zero ? 0.0f : amax / 127.0f;
  // The largest value that is read back must be finite too.
  if (!Isa::is_clean(Isa::taint(taint, Isa::broadcast(127.0f * scale)))) return false;
  const F8 inverse = Isa::broadcast(is_zero ? 0.0f : 127.0f / amax);
  int8_t codes[8];
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Isa::store(codes, Isa::mul(Isa::load(x + i), inverse));
    scatter(codes, 8, to + i * step, step);
  }
  if (i < n) {
    Isa::store(codes, Isa::mul(Isa::load_partial(x + i, n - i), inverse));
    scatter(codes, n - i, to + i * step, step);
  }
  *scale_to = scale;
  return true;
}

template <class Isa, class Element>
bool write_cache(const float* k, const float* v, const CachePlace& at) {
  Element* keys = reinterpret_cast<Element*>(at.keys) + at.offset;
  Element* values = reinterpret_cast<Element*>(at.values) + at.offset * at.padded_head_dim;
  if constexpr (kHasScales<Element>) {
    float* key_scales = reinterpret_cast<float*>(at.keys + at.head_dim * at.block_size);
    float* value_scales = reinterpret_cast<float*>(at.values + at.padded_head_dim * at.block_size);
    const bool finite = write_codes<Isa>(k, at.head_dim, keys, at.block_size, key_scales + at.offset);
    return write_codes<Isa>(v, at.head_dim, values, 1, value_scales + at.offset) && finite;
  } else {
    const bool finite = write_elements<Isa>(k, at.head_dim, keys, at.block_size);
    return write_elements<Isa>(v, at.head_dim, values, 1) && finite;
  }
}

}  // namespace hearth
