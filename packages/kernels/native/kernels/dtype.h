#pragma once

// Storage types of weights and their block sizes. Mirrors packages/core/src/tensor/dtypes.ts; the numbers of the enum
// are shared with src/addon-types.ts.

#include <cstdint>

namespace hearth {

enum class Dtype : int32_t { f32 = 0, f16 = 1, bf16 = 2, q8_0 = 3, q4_0 = 4, q4_1 = 5 };

constexpr int kNumDtypes = 6;

/// Rows that are interleaved into one tile: lane r of a vector belongs to row r.
constexpr int kTileRows = 8;

/// Elements of a row that share one scale in the quantized types.
constexpr int kBlockElements = 32;

struct DtypeInfo {
  const char* name;
  /// Elements that share one block; 1 for plain floats.
  int32_t block_elements;
  /// Bytes of one block in a file, and of one row's share of a block in a tile.
  int32_t block_bytes;
};

constexpr DtypeInfo kDtypes[kNumDtypes] = {
    {"f32", 1, 4}, {"f16", 1, 2}, {"bf16", 1, 2}, {"q8_0", 32, 34}, {"q4_0", 32, 18}, {"q4_1", 32, 20},
};

// Internal linkage, here and in every header that the kernels include: see "Why nothing is inline" in native/README.md.
static constexpr const DtypeInfo& dtype_info(Dtype dtype) { return kDtypes[static_cast<int32_t>(dtype)]; }

static constexpr bool is_quantized(Dtype dtype) { return dtype_info(dtype).block_elements > 1; }

/// Bytes of one row of `columns` elements; `columns` is a multiple of the block size.
static constexpr int64_t row_bytes(Dtype dtype, int64_t columns) {
  return columns / dtype_info(dtype).block_elements * dtype_info(dtype).block_bytes;
}

}  // namespace hearth
