#pragma once

#include <cstdint>

#include "kernels/dtype.h"
#include "runtime/thread_pool.h"

namespace hearth {

/// Whether floats can be quantized to this type: all that GGUF files hold.
bool is_quantizable(Dtype dtype);

/// Quantizes whole blocks on all threads of the pool, byte for byte as `quantizeBlocks` of packages/core. Returns the number
/// of the first block that cannot be (a value that is not finite, a scale that f16 cannot hold), or -1; then `bytes` has them all.
///
/// @param num_values a multiple of the block size
int64_t quantize_blocks(Dtype dtype, const float* values, int64_t num_values, uint8_t* bytes, ThreadPool& pool);

}  // namespace hearth
