#pragma once

// Weights are asked for before they are multiplied. A thread takes a few tiles, multiplies them with all its tokens, one pass
// over the tiles for some of the tokens each, and goes on to the next few tiles. In the first pass it would wait for memory,
// and in the others memory would wait for it. So all passes ask for what comes next, some lines in each step along k, in the
// order in which they will be used. Measured in docs/optimisation.md.
//
// Tiles that are asked for stay in the second cache until they are used, and asking brings fewer bytes a second than hardware
// does in a long stream. So long tiles are asked for as far as hardware takes to see that they are streams.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/dtype.h"
#include "kernels/kernel_table.h"

namespace hearth {

/// Most bytes of tiles that are asked for in whole while one pass is made, which may itself be waiting for memory, and while
/// several are, between which memory has time.
constexpr int64_t kMostBytesInOnePass = 128 * 1024;
constexpr int64_t kMostBytesInPasses = 384 * 1024;
/// Lines of each tile that are asked for where there are more: the first 4 KiB.
constexpr int64_t kLinesOfLongTiles = 64;

/// Asks for the first lines of some tiles: line by line, each of all the tiles.
class WeightsAhead {
 public:
  /// @param num_lines of each tile
  /// @param num_steps calls of ask() that there will be
  HEARTH_INLINE WeightsAhead(const uint8_t* first_tile, int64_t num_tiles, int64_t tile_bytes, int64_t num_lines, int64_t num_steps)
      : line_(first_tile),
        num_tiles_(num_tiles),
        tile_bytes_(tile_bytes),
        lines_left_(num_lines),
        parts_per_step_((num_lines * kLineParts + num_steps - 1) / num_steps) {}

  /// Asks for a step's share.
  HEARTH_INLINE void ask() {
    for (parts_ += parts_per_step_; parts_ >= kLineParts; parts_ -= kLineParts) {
      if (lines_left_ == 0) return;
      for (int64_t tile = 0; tile < num_tiles_; ++tile) HEARTH_PREFETCH(line_ + tile * tile_bytes_);
      line_ += kLineBytes;
      --lines_left_;
    }
  }

 private:
  /// Steps are counted in parts of a line, as seldom a whole number of lines falls on each.
  static constexpr int64_t kLineParts = 256;

  const uint8_t* line_;
  int64_t num_tiles_;
  int64_t tile_bytes_;
  int64_t lines_left_;
  int64_t parts_per_step_;
  int64_t parts_ = 0;
};

/// Elements of k in one step of plain weights; quantized ones go by blocks of activations.
constexpr int64_t kPlainStep = 4;

/// Steps along k of one pass.
template <Dtype dtype>
static constexpr int64_t steps_per_pass(int64_t columns) {
  return is_quantized(dtype) ? columns / kBlockElements : (columns + kPlainStep - 1) / kPlainStep;
}

/// What to ask for in the course of `num_passes` passes over `num_tiles` tiles from `tile` on: as many that follow in the task,
/// or, after its last, of those that its thread goes on with.
template <Dtype dtype>
HEARTH_INLINE WeightsAhead weights_ahead(const LinearTask& task, int64_t tile, int64_t num_tiles, int64_t num_passes) {
  const int64_t own_tile_bytes = kTileRows * packed_row_bytes(dtype, task.columns);
  const int64_t next = tile + num_tiles;
  const bool is_last = next >= task.last_tile;
  const uint8_t* first = is_last ? task.next : task.packed + next * own_tile_bytes;
  const int64_t num_following = is_last ? task.num_next_tiles : task.last_tile - next;
  const int64_t num_asked = num_following < num_tiles ? num_following : num_tiles;
  const int64_t tile_bytes = is_last ? task.next_tile_bytes : own_tile_bytes;
  const int64_t all_lines = (tile_bytes + kLineBytes - 1) / kLineBytes;
  const int64_t most_bytes = num_passes == 1 ? kMostBytesInOnePass : kMostBytesInPasses;
  const bool is_long = num_asked * tile_bytes > most_bytes && all_lines > kLinesOfLongTiles;
  return WeightsAhead(first, num_asked, tile_bytes, is_long ? kLinesOfLongTiles : all_lines,
                      num_passes * steps_per_pass<dtype>(task.columns));
}

}  // namespace hearth
