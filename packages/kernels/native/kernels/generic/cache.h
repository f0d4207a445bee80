#pragma once

// Writes one head's key and value of one position to the cache, rounded to its type.
//
// keys: element d at keys[d · block_size] (the position within the block is already added); values: element d at
// values[d]. Returns whether every stored value is finite, so that a magnitude which rounds to infinity in f16 is caught.

#include <cstdint>

#include "kernels/compiler.h"

namespace hearth {

static HEARTH_INLINE bool is_finite_element(float x) { return x - x == 0.0f; }
static HEARTH_INLINE bool is_finite_element(uint16_t f16) { return (f16 & 0x7c00) != 0x7c00; }

template <class Isa, class Element>
bool write_cache(const float* k, const float* v, int64_t head_dim, int64_t block_size, Element* keys, Element* values) {
  bool finite = true;
  for (int64_t d = 0; d < head_dim; d += 8) {
    const int64_t n = head_dim - d < 8 ? head_dim - d : 8;
    Element rounded[8];
    Isa::store(rounded, n == 8 ? Isa::load(k + d) : Isa::load_partial(k + d, n));
    for (int64_t i = 0; i < n; ++i) {
      keys[(d + i) * block_size] = rounded[i];
      finite &= is_finite_element(rounded[i]);
    }
    Isa::store(rounded, n == 8 ? Isa::load(v + d) : Isa::load_partial(v + d, n));
    for (int64_t i = 0; i < n; ++i) {
      values[d + i] = rounded[i];
      finite &= is_finite_element(rounded[i]);
    }
  }
  return finite;
}

}  // namespace hearth
