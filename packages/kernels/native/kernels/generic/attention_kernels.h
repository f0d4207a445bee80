#pragma once

// The kernels that touch the cache, as entries of a kernel table.

#include "kernels/generic/attention.h"
#include "kernels/generic/cache.h"

namespace hearth {

template <class Isa>
void add_attention_kernels(KernelTable& table) {
  table.write_cache_f32 = write_cache<Isa, float>;
  table.write_cache_f16 = write_cache<Isa, uint16_t>;
  table.attention_f32 = attention<Isa, float>;
  table.attention_f16 = attention<Isa, uint16_t>;
  table.merge_attention = merge_attention<Isa>;
}

}  // namespace hearth
