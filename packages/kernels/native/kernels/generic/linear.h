#pragma once

// out[t][r] = Σ_k W[r][k] · x[t][k] (+ bias[r]) from packed row tiles: the walk over tiles and tokens that all dtypes
// share. How one block of TILES tiles x TOKENS tokens is accumulated is in linear_plain.h and linear_quantized.h.
//
// Lane r of an accumulator is row r of its tile. Every output is one float chain in ascending k, whatever the shape of
// the block around it, so block shapes, chunk borders and thread counts change no bit.
//
// Tiles are taken kVectorTiles at a time (tile_vectors.h). The variant names the shapes: Isa::kDecodeVectors vectors for a
// single token, which keeps that many chains and streams of weights in flight (kFewDecodeVectors for floats, and for
// formats with two integer sums to keep), and for more tokens Isa::kVectors x Isa::kTokens, where each weight vector serves
// several tokens and each activation several vectors. Products with floats need no registers for integer sums, so they have
// a larger shape: Isa::kFloatVectors x Isa::kFloatTokens. Variants with 16-lane registers name them for both widths:
// Isa::Wide takes two tiles a vector, and Isa what is left over.

#include <cstdint>
#include <type_traits>

#include "kernels/compiler.h"
#include "kernels/generic/linear_panel.h"
#include "kernels/generic/linear_plain.h"
#include "kernels/generic/linear_quantized.h"
#include "kernels/generic/weights_ahead.h"
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

/// The tiles of one vector.
template <class Isa>
HEARTH_INLINE typename Isa::Tile::F8 finish_vector(const LinearTask& task, int64_t tile, int64_t token, typename Isa::F8 acc,
                                                   typename Isa::Tile::F8 taint) {
  using Tile = typename Isa::Tile;
  if constexpr (Isa::kVectorTiles == 1) {
    return finish_tile<Tile>(task, tile, token, acc, taint);
  } else {
    taint = finish_tile<Tile>(task, tile, token, Isa::lower(acc), taint);
    return finish_tile<Tile>(task, tile + 1, token, Isa::upper(acc), taint);
  }
}

template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE typename Isa::Tile::F8 linear_block(const LinearTask& task, int64_t tile, int64_t token, WeightsAhead& ahead,
                                                  typename Isa::Tile::F8 taint) {
  typename Isa::F8 acc[TOKENS][VECTORS];
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = Isa::zero();
  }
  const int64_t tile_bytes = kTileRows * packed_row_bytes(dtype, task.columns);
  const uint8_t* weights = task.packed + tile * tile_bytes;
  if constexpr (is_quantized(dtype)) {
    const int64_t num_blocks = task.columns / kBlockElements;
    accumulate_quantized<Isa, dtype, VECTORS, TOKENS>(weights, tile_bytes, task.x_blocks + token * num_blocks, num_blocks, ahead, acc);
  } else if constexpr (dtype == Dtype::f8_e4m3) {
    accumulate_scaled<Isa, VECTORS, TOKENS>(weights, tile_bytes, task.x + token * task.x_stride, task.x_stride, task.columns,
                                            ahead, acc);
  } else {
    accumulate_plain<Isa, dtype, VECTORS, TOKENS>(weights, tile_bytes, task.x + token * task.x_stride, task.x_stride,
                                                  task.columns, ahead, acc);
  }
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      taint = finish_vector<Isa>(task, tile + i * Isa::kVectorTiles, token + t, acc[t][i], taint);
    }
  }
  return taint;
}

/// num_tokens tokens, a multiple of Isa::kTokens and at most kPanelTokens.
template <class Isa, Dtype dtype, int VECTORS>
HEARTH_INLINE typename Isa::Tile::F8 linear_panel(const LinearTask& task, int64_t tile, int64_t token, int64_t num_tokens,
                                                  WeightsAhead& ahead, typename Isa::Tile::F8 taint) {
  typename Isa::F8 acc[kPanelTokens][VECTORS];
  for (int64_t t = 0; t < num_tokens; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = Isa::zero();
  }
  const int64_t tile_bytes = kTileRows * packed_row_bytes(dtype, task.columns);
  const int64_t num_blocks = task.columns / kBlockElements;
  accumulate_panels<Isa, dtype, VECTORS, Isa::kTokens>(task.packed + tile * tile_bytes, tile_bytes,
                                                       task.x_blocks + token * num_blocks, num_blocks, num_tokens, ahead, acc);
  for (int64_t t = 0; t < num_tokens; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      taint = finish_vector<Isa>(task, tile + i * Isa::kVectorTiles, token + t, acc[t][i], taint);
    }
  }
  return taint;
}

/// The last 1 .. TOKENS - 1 tokens.
template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE typename Isa::Tile::F8 linear_last_tokens(const LinearTask& task, int64_t tile, int64_t token, WeightsAhead& ahead,
                                                        typename Isa::Tile::F8 taint) {
  if constexpr (TOKENS > 1) {
    if (task.last_token - token == TOKENS - 1) return linear_block<Isa, dtype, VECTORS, TOKENS - 1>(task, tile, token, ahead, taint);
    return linear_last_tokens<Isa, dtype, VECTORS, TOKENS - 1>(task, tile, token, ahead, taint);
  }
  return taint;
}

/// All tokens of the task against VECTORS vectors.
template <class Isa, Dtype dtype, int VECTORS>
HEARTH_INLINE typename Isa::Tile::F8 linear_tokens(const LinearTask& task, int64_t tile, typename Isa::Tile::F8 taint) {
  constexpr int TOKENS = is_quantized(dtype) ? Isa::kTokens : Isa::kFloatTokens;
  int64_t token = task.first_token;
  const int64_t num_passes = (task.last_token - token + TOKENS - 1) / TOKENS;
  WeightsAhead ahead = weights_ahead<dtype>(task, tile, VECTORS * Isa::kVectorTiles, num_passes);
  if constexpr (is_worth_a_panel<Isa>(dtype) && VECTORS == Isa::kVectors) {
    while (task.last_token - token >= kFewestPanelTokens) {
      const int64_t whole = (task.last_token - token) / TOKENS * TOKENS;
      const int64_t num_tokens = whole < kPanelTokens ? whole : kPanelTokens / TOKENS * TOKENS;
      taint = linear_panel<Isa, dtype, VECTORS>(task, tile, token, num_tokens, ahead, taint);
      token += num_tokens;
    }
  }
  for (; token + TOKENS <= task.last_token; token += TOKENS) {
    taint = linear_block<Isa, dtype, VECTORS, TOKENS>(task, tile, token, ahead, taint);
  }
  return linear_last_tokens<Isa, dtype, VECTORS, TOKENS>(task, tile, token, ahead, taint);
}

/// Whether a chunk of a vector is one integer sum, which keeps few registers busy.
static constexpr bool has_one_sum(Dtype dtype) { return is_quantized(dtype) && block_format(dtype).sub_scales < 2; }

/// All tokens of the task against the tiles from *tile on, as far as they fill whole vectors.
template <class Isa, Dtype dtype>
HEARTH_INLINE typename Isa::Tile::F8 linear_vectors(const LinearTask& task, int64_t* tile, typename Isa::Tile::F8 taint) {
  constexpr int VECTORS = is_quantized(dtype) ? Isa::kVectors : Isa::kFloatVectors;
  const auto fits = [&](int vectors) { return *tile + vectors * Isa::kVectorTiles <= task.last_tile; };
  if (task.last_token - task.first_token == 1) {
    constexpr int DECODE_VECTORS = has_one_sum(dtype) ? Isa::kDecodeVectors : Isa::kFewDecodeVectors;
    for (; fits(DECODE_VECTORS); *tile += DECODE_VECTORS * Isa::kVectorTiles) {
      WeightsAhead ahead = weights_ahead<dtype>(task, *tile, DECODE_VECTORS * Isa::kVectorTiles, 1);
      taint = linear_block<Isa, dtype, DECODE_VECTORS, 1>(task, *tile, task.first_token, ahead, taint);
    }
  }
  for (; fits(VECTORS); *tile += VECTORS * Isa::kVectorTiles) taint = linear_tokens<Isa, dtype, VECTORS>(task, *tile, taint);
  for (; fits(1); *tile += Isa::kVectorTiles) taint = linear_tokens<Isa, dtype, 1>(task, *tile, taint);
  return taint;
}

template <class Isa, Dtype dtype>
bool linear(const LinearTask& task) {
  typename Isa::F8 taint = Isa::zero();
  int64_t tile = task.first_tile;
  if constexpr (!std::is_same<typename Isa::Wide, Isa>::value) taint = linear_vectors<typename Isa::Wide, dtype>(task, &tile, taint);
  taint = linear_vectors<Isa, dtype>(task, &tile, taint);
  return Isa::is_clean(taint);
}

}  // namespace hearth
