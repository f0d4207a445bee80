#pragma once

// Block of a product with f32, f16 or bf16 weights: acc[t][i] = fma(w_i[k], x_t[k], acc[t][i]) in ascending k, weights
// widened exactly. A tile holds, for each k, the 8 elements of its rows.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/dtype.h"

namespace hearth {

template <class Isa, Dtype dtype>
HEARTH_INLINE typename Isa::F8 load_weights(const uint8_t* tile, int64_t k) {
  if constexpr (dtype == Dtype::f32) return Isa::load(reinterpret_cast<const float*>(tile) + k * kTileRows);
  if constexpr (dtype == Dtype::f16) return Isa::load(reinterpret_cast<const uint16_t*>(tile) + k * kTileRows);
  if constexpr (dtype == Dtype::bf16) return Isa::load_bf16(reinterpret_cast<const uint16_t*>(tile) + k * kTileRows);
}

template <class Isa, Dtype dtype, int TILES, int TOKENS>
HEARTH_INLINE void accumulate_plain(const uint8_t* weights, int64_t tile_bytes, const float* x, int64_t x_stride,
                                    int64_t columns, typename Isa::F8 (&acc)[TOKENS][TILES]) {
  using F8 = typename Isa::F8;
  for (int64_t k = 0; k < columns; ++k) {
    F8 w[TILES];
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) w[i] = load_weights<Isa, dtype>(weights + i * tile_bytes, k);
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const F8 activation = Isa::broadcast(x[t * x_stride + k]);
      HEARTH_UNROLL for (int i = 0; i < TILES; ++i) acc[t][i] = Isa::fma(w[i], activation, acc[t][i]);
    }
  }
}

}  // namespace hearth
