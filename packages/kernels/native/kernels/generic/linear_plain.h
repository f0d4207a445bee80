#pragma once

// Block of a product with f32, f16, bf16 or f8_e4m3 weights: acc[t][i] = fma(w_i[k], x_t[k], acc[t][i]) in ascending k,
// weights widened exactly. A tile holds, for each k, the 8 elements of its rows. Those of f8_e4m3 are kept as f16, which
// holds them exactly: processors widen f16 in one instruction, and f8 in none. Before each 32 of them are 8 f32 scales.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/dtype.h"
#include "kernels/generic/tile_vectors.h"
#include "kernels/generic/weights_ahead.h"

namespace hearth {

template <class Tile, Dtype dtype>
HEARTH_INLINE typename Tile::F8 load_weights(const uint8_t* tile, int64_t k) {
  if constexpr (dtype == Dtype::f32) return Tile::load(reinterpret_cast<const float*>(tile) + k * kTileRows);
  if constexpr (dtype == Dtype::f16) return Tile::load(reinterpret_cast<const uint16_t*>(tile) + k * kTileRows);
  if constexpr (dtype == Dtype::bf16) return Tile::load_bf16(reinterpret_cast<const uint16_t*>(tile) + k * kTileRows);
}

template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE void accumulate_plain(const uint8_t* weights, int64_t tile_bytes, const float* x, int64_t x_stride,
                                    int64_t columns, WeightsAhead& ahead, typename Isa::F8 (&acc)[TOKENS][VECTORS]) {
  using F8 = typename Isa::F8;
  const int64_t vector_bytes = Isa::kVectorTiles * tile_bytes;
  for (int64_t k = 0; k < columns; ++k) {
    if (k % kPlainStep == 0) ahead.ask();
    F8 w[VECTORS];
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      w[i] = each_tile<Isa>(weights + i * vector_bytes, tile_bytes,
                            [=](const uint8_t* tile) { return load_weights<typename Isa::Tile, dtype>(tile, k); });
    }
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const F8 activation = Isa::broadcast(x[t * x_stride + k]);
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = Isa::fma(w[i], activation, acc[t][i]);
    }
  }
}

/// w = scale · code, rounded once.
template <class Isa, int VECTORS, int TOKENS>
HEARTH_INLINE void accumulate_scaled(const uint8_t* weights, int64_t tile_bytes, const float* x, int64_t x_stride,
                                     int64_t columns, WeightsAhead& ahead, typename Isa::F8 (&acc)[TOKENS][VECTORS]) {
  using F8 = typename Isa::F8;
  using Tile = typename Isa::Tile;
  constexpr DtypeInfo kInfo = dtype_info(Dtype::f8_e4m3);
  const int64_t vector_bytes = Isa::kVectorTiles * tile_bytes;
  for (int64_t block = 0; block < columns; block += kInfo.block_elements, weights += kTileRows * kInfo.packed_block_bytes) {
    F8 scale[VECTORS];
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      scale[i] = each_tile<Isa>(weights + i * vector_bytes, tile_bytes,
                                [](const uint8_t* tile) { return Tile::load(reinterpret_cast<const float*>(tile)); });
    }
    for (int64_t k = 0; k < kInfo.block_elements; ++k) {
      if (k % kPlainStep == 0) ahead.ask();
      F8 w[VECTORS];
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
        const uint8_t* codes = weights + i * vector_bytes + kTileRows * sizeof(float);
        w[i] = Isa::mul(scale[i], each_tile<Isa>(codes, tile_bytes, [=](const uint8_t* tile) {
                          return load_weights<Tile, Dtype::f16>(tile, k);
                        }));
      }
      HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
        const F8 activation = Isa::broadcast(x[t * x_stride + block + k]);
        HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = Isa::fma(w[i], activation, acc[t][i]);
      }
    }
  }
}

}  // namespace hearth
