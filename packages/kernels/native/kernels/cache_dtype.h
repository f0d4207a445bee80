#pragma once

// Storage types of cached keys and values. All functions have internal linkage (native/README.md says why).

#include <cstdint>

namespace hearth {

/// q8 is int8 codes with one f32 scale for each position, head, and key or value. Numbers as in src/addon-types.ts.
enum class CacheDtype : int32_t { f32 = 0, f16 = 1, q8 = 2 };
constexpr int kNumCacheDtypes = 3;

static constexpr bool is_cache_dtype(CacheDtype dtype) {
  return static_cast<int32_t>(dtype) >= 0 && static_cast<int32_t>(dtype) < kNumCacheDtypes;
}

static constexpr int64_t cache_element_bytes(CacheDtype dtype) {
  return dtype == CacheDtype::f32 ? 4 : dtype == CacheDtype::f16 ? 2 : 1;
}

/// Bytes of one head's keys (or values, with padded_head_dim) in one block: [head_dim · block_size] elements, then for q8
/// the scales f32 [block_size].
static constexpr int64_t cache_head_bytes(CacheDtype dtype, int64_t head_dim, int64_t block_size) {
  const int64_t scale_bytes = dtype == CacheDtype::q8 ? 4 : 0;
  return block_size * (head_dim * cache_element_bytes(dtype) + scale_bytes);
}

}  // namespace hearth
