#include "step/run_linear.h"

#include <algorithm>

#include "step/products.h"

namespace hearth {
namespace {

/// Activations that are quantized by one thread at a time.
constexpr int64_t kQuantizeFloats = 16384;

/// Quantizes x in the column order of part `part` into set `part` of the activations.
void quantize_activations(StepContext& step, const LinearOp& op, int64_t part, int64_t num_rows) {
  Executable& x = step.executable;
  const int64_t num_blocks = op.x.width / kBlockElements;
  const Tensor& matrix = x.weights->at(op.parts[static_cast<std::size_t>(part)].weight);
  ActivationBlock* activations = x.activations.data() + part * num_rows * num_blocks;
  const int64_t rows_per_chunk = std::max<int64_t>(1, kQuantizeFloats / op.x.width);
  step.pool.parallel_for(divide_up(num_rows, rows_per_chunk), [&](int64_t chunk, int) {
    const int64_t end = std::min(num_rows, (chunk + 1) * rows_per_chunk);
    for (int64_t row = chunk * rows_per_chunk; row < end; ++row) {
      quantize_for(x.kernels, matrix, x.row(op.x, row), activations + row * num_blocks);
    }
  });
}

/// Tiles of one of the op's matrices.
struct PartTiles {
  int64_t part;
  /// Of the output, where the matrix's first row goes.
  int64_t column;
  int64_t first_tile;
  int64_t last_tile;
};

/// The matrices of the op, one after the other, in chunks of `chunk_tiles` tiles: chunk `index`, which must exist.
PartTiles part_tiles_at(const LinearOp& op, const Weights& weights, int64_t chunk_tiles, int64_t index) {
  PartTiles at{0, 0, 0, 0};
  for (;; ++at.part) {
    const Tensor& tensor = weights.at(op.parts[static_cast<std::size_t>(at.part)].weight);
    const int64_t chunks_here = divide_up(num_tiles(tensor), chunk_tiles);
    if (index < chunks_here) {
      at.first_tile = index * chunk_tiles;
      at.last_tile = std::min(num_tiles(tensor), at.first_tile + chunk_tiles);
      return at;
    }
    index -= chunks_here;
    at.column += tensor.rows;
  }
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
  const int64_t chunk_tiles = tiles_per_chunk(total_tiles, num_token_chunks, step.pool.num_threads());
  int64_t num_tile_chunks = 0;
  for (const LinearOp::Part& part : op.parts) num_tile_chunks += divide_up(num_tiles(x.weights->at(part.weight)), chunk_tiles);
  const auto tiles_at = [&](int64_t tile_chunk) { return part_tiles_at(op, *x.weights, chunk_tiles, tile_chunk); };

  // Neighbouring chunks share their weights, which are the larger part.
  step.pool.parallel_for(num_tile_chunks * num_token_chunks, [&](int64_t chunk, int) {
    const int64_t tile_chunk = chunk / num_token_chunks;
    const PartTiles tiles = tiles_at(tile_chunk);
    const LinearOp::Part& part = op.parts[static_cast<std::size_t>(tiles.part)];
    const Tensor& tensor = x.weights->at(part.weight);
    LinearTask task;
    task.packed = tensor.data.data();
    task.rows = tensor.rows;
    task.columns = tensor.columns;
    task.first_tile = tiles.first_tile;
    task.last_tile = tiles.last_tile;
    task.first_token = chunk % num_token_chunks * kTokensPerChunk;
    task.last_token = std::min(num_rows, task.first_token + kTokensPerChunk);
    task.x = x.row(op.x, 0);
    task.x_stride = x.stride(op.x);
    const int64_t set = activation_set(op, *x.weights, tiles.part);
    task.x_blocks = set == kNoActivationSet ? nullptr : x.activations.data() + set * num_rows * (tensor.columns / kBlockElements);
    task.bias = part.bias == kNoBias ? nullptr : x.weights->at(part.bias).data.as<float>();
    task.out = x.row(op.out, 0) + tiles.column;
    task.out_stride = x.stride(op.out);
    const int64_t next_tile_chunk = step.pool.likely_next_chunk(chunk) / num_token_chunks;
    if (next_tile_chunk > tile_chunk && next_tile_chunk < num_tile_chunks) {
      const PartTiles next = tiles_at(next_tile_chunk);
      set_next_tiles(&task, x.weights->at(op.parts[static_cast<std::size_t>(next.part)].weight), next.first_tile, next.last_tile);
    }
    if (!x.kernels.linear[static_cast<int>(tensor.dtype)](task)) step.mark_not_finite();
  });
}

}  // namespace hearth
