#include "step/products.h"

#include <algorithm>

namespace hearth {
namespace {

/// Chunks per thread to aim at: enough to even out a thread that is late, few enough that claiming them costs nothing. Those
/// of many tokens take milliseconds, so there are more of them: the last one of all is what threads wait for.
constexpr int64_t kChunksPerThread = 8;
constexpr int64_t kPrefillChunksPerThread = 32;

/// Tiles of a chunk are a multiple of this, so that kernels can take as many at once as they ever do.
constexpr int64_t kTileStep = 8;

/// Activations that are gathered before they are quantized: whole blocks, and little enough for the stack.
constexpr int64_t kGatherBlocks = 32;

}  // namespace

int64_t tiles_per_chunk(int64_t total_tiles, int64_t num_token_chunks, int num_threads) {
  const int64_t chunks_per_thread = num_token_chunks > 1 ? kPrefillChunksPerThread : kChunksPerThread;
  const int64_t wanted_tile_chunks = std::max<int64_t>(1, num_threads * chunks_per_thread / num_token_chunks);
  return divide_up(divide_up(total_tiles, wanted_tile_chunks), kTileStep) * kTileStep;
}

void set_next_tiles(LinearTask* task, const Tensor& matrix, int64_t first_tile, int64_t last_tile) {
  task->next_tile_bytes = kTileRows * packed_row_bytes(matrix.dtype, matrix.columns);
  task->next = matrix.data.data() + first_tile * task->next_tile_bytes;
  task->num_next_tiles = last_tile - first_tile;
}

void quantize_for(const KernelTable& kernels, const Tensor& matrix, const float* x, ActivationBlock* out) {
  const int64_t num_blocks = matrix.columns / kBlockElements;
  if (matrix.column_order == nullptr) {
    kernels.quantize_row(x, num_blocks, out);
    return;
  }
  float gathered[kGatherBlocks * kBlockElements];
  for (int64_t block = 0; block < num_blocks; block += kGatherBlocks) {
    const int64_t blocks_here = std::min(kGatherBlocks, num_blocks - block);
    const uint32_t* columns = matrix.column_order->data() + block * kBlockElements;
    for (int64_t i = 0; i < blocks_here * kBlockElements; ++i) gathered[i] = x[columns[i]];
    kernels.quantize_row(gathered, blocks_here, out + block);
  }
}

}  // namespace hearth
