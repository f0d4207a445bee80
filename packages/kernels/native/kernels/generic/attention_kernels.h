#pragma once

// The kernels that touch the cache, as entries of a kernel table.

#include "kernels/generic/attention.h"
#include "kernels/generic/cache.h"

namespace hearth {

template <class Isa, CacheDtype DTYPE, class Element>
void add_cache_dtype(KernelTable& table) {
  table.write_cache[static_cast<int>(DTYPE)] = write_cache<Isa, Element>;
  table.attention[static_cast<int>(DTYPE)] = attention<Isa, Element>;
}

template <class Isa>
void add_attention_kernels(KernelTable& table) {
  add_cache_dtype<Isa, CacheDtype::f32, float>(table);
  add_cache_dtype<Isa, CacheDtype::f16, uint16_t>(table);
  add_cache_dtype<Isa, CacheDtype::q8, int8_t>(table);
  table.merge_attention = merge_attention<Isa>;
}

}  // namespace hearth
