#include "step/run_linear.h"

#include <algorithm>

namespace hearth {
namespace {

/// Tokens of one chunk. Their activations (64 x 2,048 codes are 190 KiB with scales) stay in L2 while tiles of weights
/// pass by.
constexpr int64_t kTokensPerChunk = 64;

/// Chunks per thread to aim at: enough to even out a thread that is late, few enough that claiming them costs nothing.
constexpr int64_t kChunksPerThread = 8;

/// Tiles of a chunk are a multiple of this, so that kernels can take four at once.
constexpr int64_t kTileStep = 4;

/// Activations that are quantized by one thread at a time.
constexpr int64_t kQuantizeFloats = 16384;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t num_tiles(const Tensor& tensor) { return divide_up(tensor.rows, kTileRows); }

/// Activations that are gathered before they are quantized: whole blocks, and little enough for the stack.
constexpr int64_t kGatherBlocks = 32;

/// Quantizes a row in the order that packed columns have.
void quantize_gathered(const KernelTable& kernels, const float* x, const std::vector<uint32_t>& order, ActivationBlock* out) {
  float gathered[kGatherBlocks * kBlockElements];
  const int64_t num_blocks = static_cast<int64_t>(order.size()) / kBlockElements;
  for (int64_t block = 0; block < num_blocks; block += kGatherBlocks) {
    const int64_t blocks_here = std::min(kGatherBlocks, num_blocks - block);
    const uint32_t* columns = order.data() + block * kBlockElements;
    for (int64_t i = 0; i < blocks_here * kBlockElements; ++i) gathered[i] = x[columns[i]];
    kernels.quantize_row(gathered, blocks_here, out + block);
  }
}

/// Quantizes x in the column order of part `part` into set `part` of the activations.
void quantize_activations(StepContext& step, const LinearOp& op, int64_t part, int64_t num_rows) {
  Executable& x = step.executable;
  const int64_t num_blocks = op.x.width / kBlockElements;
  const std::vector<uint32_t>* order = x.weights->at(op.parts[static_cast<std::size_t>(part)].weight).column_order.get();
  ActivationBlock* activations = x.activations.data() + part * num_rows * num_blocks;
  const int64_t rows_per_chunk = std::max<int64_t>(1, kQuantizeFloats / op.x.width);
  step.pool.parallel_for(divide_up(num_rows, rows_per_chunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(num_rows, (chunk + 1) * rows_per_chunk);
    for (int64_t row = chunk * rows_per_chunk; row < end; ++row) {
      ActivationBlock* out = activations + row * num_blocks;
      if (order == nullptr) x.kernels.quantize_row(x.row(op.x, row), num_blocks, out);
      else quantize_gathered(x.kernels, x.row(op.x, row), *order, out);
    }
  });
}

}  // namespace

int64_t activation_set(const LinearOp& op, const Weights& weights, int64_t part) {
  const auto tensor = [&](int64_t i) -> const Tensor& { return weights.at(op.parts[static_cast<std::size_t>(i)].weight); };
  if (!is_quantized(tensor(part).dtype)) return kNoActivationSet;
  int64_t first = 0;
  while (!is_quantized(tensor(first).dtype) || tensor(first).column_order != tensor(part).column_order) ++first;
  return first;
}

void run_linear(StepContext& step, const LinearOp& op) {
  Executable& x = step.executable;
  const int64_t num_rows = step.num_rows(x.buffer(op.x).rows);
  if (num_rows == 0) return;

  const int64_t num_parts = static_cast<int64_t>(op.parts.size());
  int64_t total_tiles = 0;
  for (int64_t part = 0; part < num_parts; ++part) {
    total_tiles += num_tiles(x.weights->at(op.parts[static_cast<std::size_t>(part)].weight));
    if (activation_set(op, *x.weights, part) == part) quantize_activations(step, op, part, num_rows);
  }

  const int64_t num_token_chunks = divide_up(num_rows, kTokensPerChunk);
  const int64_t wanted_tile_chunks = std::max<int64_t>(1, step.pool.num_threads() * kChunksPerThread / num_token_chunks);
  const int64_t tiles_per_chunk = divide_up(divide_up(total_tiles, wanted_tile_chunks), kTileStep) * kTileStep;
  int64_t num_tile_chunks = 0;
  for (const LinearOp::Part& part : op.parts) num_tile_chunks += divide_up(num_tiles(x.weights->at(part.weight)), tiles_per_chunk);

  // Neighbouring chunks share their weights, which are the larger part.
  step.pool.parallel_for(num_tile_chunks * num_token_chunks, [&](int64_t chunk, int) {
    int64_t tile_chunk = chunk / num_token_chunks;
    const int64_t first_token = chunk % num_token_chunks * kTokensPerChunk;
    int64_t column = 0;
    for (int64_t i = 0; i < num_parts; ++i) {
      const LinearOp::Part& part = op.parts[static_cast<std::size_t>(i)];
      const Tensor& tensor = x.weights->at(part.weight);
      const int64_t chunks_here = divide_up(num_tiles(tensor), tiles_per_chunk);
      if (tile_chunk >= chunks_here) {
        tile_chunk -= chunks_here;
        column += tensor.rows;
        continue;
      }
      LinearTask task;
      task.packed = tensor.data.data();
      task.rows = tensor.rows;
      task.columns = tensor.columns;
      task.first_tile = tile_chunk * tiles_per_chunk;
      task.last_tile = std::min(num_tiles(tensor), task.first_tile + tiles_per_chunk);
      task.first_token = first_token;
      task.last_token = std::min(num_rows, first_token + kTokensPerChunk);
      task.x = x.row(op.x, 0);
      task.x_stride = x.stride(op.x);
      const int64_t set = activation_set(op, *x.weights, i);
      task.x_blocks = set == kNoActivationSet ? nullptr : x.activations.data() + set * num_rows * (tensor.columns / kBlockElements);
      task.bias = part.bias == kNoBias ? nullptr : x.weights->at(part.bias).data.as<float>();
      task.out = x.row(op.out, 0) + column;
      task.out_stride = x.stride(op.out);
      if (!x.kernels.linear[static_cast<int>(tensor.dtype)](task)) step.mark_not_finite();
      return;
    }
  });
}

}  // namespace hearth
