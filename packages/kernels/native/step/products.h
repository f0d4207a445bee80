#pragma once

#include <cstdint>

#include "kernels/kernel_table.h"
#include "weights/weights.h"

// What the ops with products of matrices share: how a product is cut into chunks, and how its input is quantized.

namespace hearth {

/// Tokens of one chunk. Their activations (64 x 2,048 codes are 190 KiB with scales) stay in L2 while tiles of weights
/// pass by.
constexpr int64_t kTokensPerChunk = 64;

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t num_tiles(const Tensor& tensor) { return divide_up(tensor.rows, kTileRows); }

/// Tiles of one chunk, when every tile meets `num_token_chunks` chunks of tokens.
int64_t tiles_per_chunk(int64_t total_tiles, int64_t num_token_chunks, int num_threads);

/// Names tiles [first_tile, last_tile) of a matrix as what the thread goes on with after the task.
void set_next_tiles(LinearTask* task, const Tensor& matrix, int64_t first_tile, int64_t last_tile);

/// Quantizes a row of activations, in the order that the columns of the matrix are packed in, into columns / 32 blocks.
void quantize_for(const KernelTable& kernels, const Tensor& matrix, const float* x, ActivationBlock* out);

}  // namespace hearth
