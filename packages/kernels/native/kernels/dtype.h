#pragma once

// Storage types of weights and their block sizes. Mirrors packages/core/src/tensor/dtypes.ts; the numbers of the enum
// are shared with src/addon-types.ts.

#include <cstdint>

namespace hearth {

enum class Dtype : int32_t {
  f32 = 0,
  f16 = 1,
  bf16 = 2,
  q8_0 = 3,
  q4_0 = 4,
  q4_1 = 5,
  q5_0 = 6,
  q5_1 = 7,
  iq4_nl = 8,
  q2_k = 9,
  q3_k = 10,
  q4_k = 11,
  q5_k = 12,
  q6_k = 13,
  iq4_xs = 14,
  int4_g32 = 15,
  int4_g128 = 16,
  f8_e4m3 = 17,
};

constexpr int kNumDtypes = 18;

/// Rows that are interleaved into one tile: lane r of a vector belongs to row r.
constexpr int kTileRows = 8;

/// Activations of a row that share one scale in products with quantized weights.
constexpr int kBlockElements = 32;

struct DtypeInfo {
  const char* name;
  /// Elements that share one block; 1 for plain floats.
  int32_t block_elements;
  /// Bytes of one block in a file.
  int32_t block_bytes;
  /// Bytes of one row's share of a block in a tile.
  int32_t packed_block_bytes;
};

constexpr DtypeInfo kDtypes[kNumDtypes] = {
    {"f32", 1, 4, 4},
    {"f16", 1, 2, 2},
    {"bf16", 1, 2, 2},
    {"q8_0", 32, 34, 34},
    {"q4_0", 32, 18, 18},
    {"q4_1", 32, 20, 20},
    {"q5_0", 32, 22, 22},
    {"q5_1", 32, 24, 24},
    {"iq4_nl", 32, 18, 18},
    {"q2_k", 256, 84, 84},
    {"q3_k", 256, 110, 110},
    {"q4_k", 256, 144, 148},
    {"q5_k", 256, 176, 180},
    {"q6_k", 256, 210, 210},
    {"iq4_xs", 256, 136, 138},
    {"int4_g32", 32, 20, 20},
    {"int4_g128", 128, 68, 68},
    {"f8_e4m3", 32, 36, 68},
};

// Internal linkage, here and in every header that the kernels include: see "Why nothing is inline" in native/README.md.
static constexpr const DtypeInfo& dtype_info(Dtype dtype) { return kDtypes[static_cast<int32_t>(dtype)]; }

/// Whether the codes are integers, so that products take quantized activations. Those of f8_e4m3 are floats.
static constexpr bool is_quantized(Dtype dtype) {
  return dtype_info(dtype).block_elements > 1 && dtype != Dtype::f8_e4m3;
}

/// Bytes of one row of `columns` elements in a file; `columns` is a multiple of the block size.
static constexpr int64_t file_row_bytes(Dtype dtype, int64_t columns) {
  return columns / dtype_info(dtype).block_elements * dtype_info(dtype).block_bytes;
}

/// The same in a tile.
static constexpr int64_t packed_row_bytes(Dtype dtype, int64_t columns) {
  return columns / dtype_info(dtype).block_elements * dtype_info(dtype).packed_block_bytes;
}

}  // namespace hearth
