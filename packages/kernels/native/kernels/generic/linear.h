#pragma once

// out[t][r] = Σ_k W[r][k] · x[t][k] (+ bias[r]) from packed row tiles: the walk over tiles and tokens that all dtypes
// share. How one block of TILES tiles x TOKENS tokens is accumulated is in linear_plain.h and linear_quantized.h.
//
// Lane r of an accumulator is row r of its tile. Every output is one float chain in ascending k, whatever the shape of
// the block around it, so block shapes, chunk borders and thread counts change no bit.
//
// The variant names two shapes: Isa::kDecodeTiles tiles for a single token, which keeps that many chains and streams of
// weights in flight, and Isa::kTiles x Isa::kTokens for more, where each weight vector serves several tokens and each
// activation several tiles.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/linear_plain.h"
#include "kernels/generic/linear_quantized.h"
#include "kernels/kernel_table.h"

namespace hearth {

/// Adds the bias to a tile of one token, stores its rows and marks what is not finite.
template <class Isa>
HEARTH_INLINE typename Isa::F8 finish_tile(const LinearTask& task, int64_t tile, int64_t token, typename Isa::F8 acc,
                                           typename Isa::F8 taint) {
  const int64_t row = tile * kTileRows;
  const int64_t rows_left = task.rows - row;
  float* out = task.out + token * task.out_stride + row;
  if (rows_left >= kTileRows) {
    if (task.bias != nullptr) acc = Isa::add(acc, Isa::load(task.bias + row));
    Isa::store(out, acc);
  } else {
    if (task.bias != nullptr) acc = Isa::add(acc, Isa::load_partial(task.bias + row, rows_left));
    // Rows past the matrix are zero weights: their lanes are 0 and taint nothing.
    Isa::store_partial(out, acc, rows_left);
  }
  return Isa::taint(taint, acc);
}

template <class Isa, Dtype dtype, int TILES, int TOKENS>
HEARTH_INLINE typename Isa::F8 linear_block(const LinearTask& task, int64_t tile, int64_t token,
                                            typename Isa::F8 taint) {
  typename Isa::F8 acc[TOKENS][TILES];
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) acc[t][i] = Isa::zero();
  }
  const int64_t tile_bytes = kTileRows * packed_row_bytes(dtype, task.columns);
  const uint8_t* weights = task.packed + tile * tile_bytes;
  if constexpr (is_quantized(dtype)) {
    const int64_t num_blocks = task.columns / kBlockElements;
    accumulate_quantized<Isa, dtype, TILES, TOKENS>(weights, tile_bytes, task.x_blocks + token * num_blocks, num_blocks, acc);
  } else if constexpr (dtype == Dtype::f8_e4m3) {
    accumulate_scaled<Isa, TILES, TOKENS>(weights, tile_bytes, task.x + token * task.x_stride, task.x_stride, task.columns, acc);
  } else {
    accumulate_plain<Isa, dtype, TILES, TOKENS>(weights, tile_bytes, task.x + token * task.x_stride, task.x_stride,
                                                task.columns, acc);
  }
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) taint = finish_tile<Isa>(task, tile + i, token + t, acc[t][i], taint);
  }
  return taint;
}

/// The last 1 .. TOKENS - 1 tokens.
template <class Isa, Dtype dtype, int TILES, int TOKENS>
HEARTH_INLINE typename Isa::F8 linear_last_tokens(const LinearTask& task, int64_t tile, int64_t token,
                                                  typename Isa::F8 taint) {
  if constexpr (TOKENS > 1) {
    if (task.last_token - token == TOKENS - 1) return linear_block<Isa, dtype, TILES, TOKENS - 1>(task, tile, token, taint);
    return linear_last_tokens<Isa, dtype, TILES, TOKENS - 1>(task, tile, token, taint);
  }
  return taint;
}

/// All tokens of the task against TILES tiles.
template <class Isa, Dtype dtype, int TILES>
HEARTH_INLINE typename Isa::F8 linear_tokens(const LinearTask& task, int64_t tile, typename Isa::F8 taint) {
  constexpr int TOKENS = Isa::kTokens;
  int64_t token = task.first_token;
  for (; token + TOKENS <= task.last_token; token += TOKENS) {
    taint = linear_block<Isa, dtype, TILES, TOKENS>(task, tile, token, taint);
  }
  return linear_last_tokens<Isa, dtype, TILES, TOKENS>(task, tile, token, taint);
}

template <class Isa, Dtype dtype>
bool linear(const LinearTask& task) {
  typename Isa::F8 taint = Isa::zero();
  int64_t tile = task.first_tile;
  if (task.last_token - task.first_token == 1) {
    for (; tile + Isa::kDecodeTiles <= task.last_tile; tile += Isa::kDecodeTiles) {
      taint = linear_block<Isa, dtype, Isa::kDecodeTiles, 1>(task, tile, task.first_token, taint);
    }
  }
  for (; tile + Isa::kTiles <= task.last_tile; tile += Isa::kTiles) {
    taint = linear_tokens<Isa, dtype, Isa::kTiles>(task, tile, taint);
  }
  for (; tile < task.last_tile; ++tile) taint = linear_tokens<Isa, dtype, 1>(task, tile, taint);
  return Isa::is_clean(taint);
}

}  // namespace hearth
