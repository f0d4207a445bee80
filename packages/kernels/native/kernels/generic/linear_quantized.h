#pragma once

// Block of a product with quantized weights and int8 activations (docs/numerics.md, "linear, quantized weights"). Per 32
// elements of k, in ascending order:
//
//   isum = Σ sub_s · Σ code_w · code_x                          exact, in integers, any order (integer_products.h)
//   acc  = fma(float(isum), scale_w · scale_x, acc)             two roundings
//   acc  = fma(min_w, float(Σ code_x) · scale_x, acc)           for each minimum; the product was rounded before
//
// One template serves all types: what they differ in is in the tables of block_format.h.

#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"
#include "kernels/generic/integer_products.h"
#include "kernels/generic/weights_ahead.h"

namespace hearth {

/// float(Σ code_x of 16 codes) · scale_x, where `offsets` are -8 times their sums. Negated in integers, so that 0 stays +0.
template <class Isa>
HEARTH_INLINE typename Isa::F8 scaled_half_sum(typename Isa::Dots offsets, float scale) {
  const typename Isa::I8 sum = Isa::subtract(Isa::zero_integers(), Isa::total(Isa::shifted(offsets, -3)));
  return Isa::mul(Isa::to_float(sum), Isa::broadcast(scale));
}

/// x: the tokens' blocks, x_stride apart.
template <class Isa, Dtype dtype, int VECTORS, int TOKENS, class Weights>
HEARTH_INLINE void accumulate_chunk(const Weights& weights, const ActivationBlock* x, int64_t x_stride,
                                    typename Isa::F8 (&acc)[TOKENS][VECTORS]) {
  using F8 = typename Isa::F8;
  constexpr BlockFormat format = block_format(dtype);
  typename Isa::I8 isum[TOKENS][VECTORS];
  integer_products<Isa, dtype, VECTORS, TOKENS>(weights, x, x_stride, isum);
  HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
    const F8 scale = weights.scale(i);
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const F8 product_scale = Isa::mul(scale, Isa::broadcast(x[t * x_stride].scale));
      acc[t][i] = Isa::fma(Isa::to_float(isum[t][i]), product_scale, acc[t][i]);
    }
    if constexpr (format.minimums == 1) {
      const F8 minimum = weights.minimum(i, 0);
      HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
        acc[t][i] = Isa::fma(minimum, Isa::broadcast(x[t * x_stride].scaled_sum), acc[t][i]);
      }
    }
  }
  if constexpr (format.minimums == 2) {
    HEARTH_UNROLL for (int part = 0; part < 2; ++part) {
      F8 minimum[VECTORS];
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) minimum[i] = weights.minimum(i, part);
      HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
        const ActivationBlock& xt = x[t * x_stride];
        const F8 sum = scaled_half_sum<Isa>(part == 0 ? Isa::lower_offsets(xt) : Isa::upper_offsets(xt), xt.scale);
        HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = Isa::fma(minimum[i], sum, acc[t][i]);
      }
    }
  }
}

/// x: the tokens' blocks, [TOKENS, num_x_blocks].
template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE void accumulate_quantized(const uint8_t* weights, int64_t tile_bytes, const ActivationBlock* x,
                                        int64_t num_x_blocks, WeightsAhead& ahead, typename Isa::F8 (&acc)[TOKENS][VECTORS]) {
  constexpr BlockFormat format = block_format(dtype);
  const int64_t num_blocks = num_x_blocks / format.chunks;
  for (int64_t block = 0; block < num_blocks; ++block, weights += tile_block_bytes(dtype)) {
    for (int64_t chunk = 0; chunk < format.chunks; ++chunk, ++x) {
      ahead.ask();
      const TileChunk<Isa, dtype> source{weights, chunk, tile_bytes};
      accumulate_chunk<Isa, dtype, VECTORS, TOKENS>(source, x, num_x_blocks, acc);
    }
  }
}

}  // namespace hearth
