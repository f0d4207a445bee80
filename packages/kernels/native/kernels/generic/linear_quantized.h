#pragma once

// Block of a product with q8_0, q4_0 or q4_1 weights and int8 activations (docs/numerics.md, "linear, quantized
// weights"). Per 32 elements of k:
//
//   isum = Σ code_w · code_x                                    exact, in integers, any order
//   acc  = fma(float(isum), scale_w · scale_x, acc)             two roundings
//   acc  = fma(min_w, float(Σ code_x) · scale_x, acc)           q4_1 only; the product was rounded when x was quantized
//
// Bytes of one tile and block (drawn in docs/shapes.md): 8 f16 scales, for q4_1 also 8 f16 minimums, then groups of 32 code
// bytes, 4 for each row. In group g a q8_0 byte is k = 4g + j; a nibble byte is k = 4g + j (low) and 16 + 4g + j (high).

#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"
#include "kernels/dtype.h"

namespace hearth {

/// isum of TILES tiles x TOKENS tokens for nibbles. Tile i's groups start at codes + i · tile_bytes.
template <class Isa, bool has_offset, int TILES, int TOKENS>
HEARTH_INLINE void nibble_products(const uint8_t* codes, int64_t tile_bytes, const ActivationBlock* x, int64_t x_stride,
                                   typename Isa::I8 (&isum)[TOKENS][TILES]) {
  typename Isa::NibbleDots dots[TOKENS][TILES];
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) {
      dots[t][i] = has_offset ? Isa::nibble_offset(x[t * x_stride]) : Isa::nibble_zero();
    }
  }
  HEARTH_UNROLL for (int g = 0; g < 4; ++g) {
    typename Isa::Codes low[TILES], high[TILES];
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) {
      const typename Isa::Codes packed = Isa::load_codes(codes + i * tile_bytes + 32 * g);
      low[i] = Isa::low_nibbles(packed);
      high[i] = Isa::high_nibbles(packed);
    }
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const int8_t* activations = x[t * x_stride].codes;
      const typename Isa::FourCodes x_low = Isa::broadcast_codes(activations + 4 * g);
      HEARTH_UNROLL for (int i = 0; i < TILES; ++i) dots[t][i] = Isa::nibble_dot(dots[t][i], low[i], x_low);
      const typename Isa::FourCodes x_high = Isa::broadcast_codes(activations + 16 + 4 * g);
      HEARTH_UNROLL for (int i = 0; i < TILES; ++i) dots[t][i] = Isa::nibble_dot(dots[t][i], high[i], x_high);
    }
  }
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) isum[t][i] = Isa::nibble_total(dots[t][i]);
  }
}

/// isum of TILES tiles x TOKENS tokens for signed 8-bit codes.
template <class Isa, int TILES, int TOKENS>
HEARTH_INLINE void signed_products(const uint8_t* codes, int64_t tile_bytes, const ActivationBlock* x, int64_t x_stride,
                                   typename Isa::I8 (&isum)[TOKENS][TILES]) {
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) isum[t][i] = Isa::zero_integers();
  }
  HEARTH_UNROLL for (int g = 0; g < 8; ++g) {
    typename Isa::Codes w[TILES];
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) w[i] = Isa::load_codes(codes + i * tile_bytes + 32 * g);
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const typename Isa::FourCodes four = Isa::broadcast_codes(x[t * x_stride].codes + 4 * g);
      HEARTH_UNROLL for (int i = 0; i < TILES; ++i) isum[t][i] = Isa::signed_dot(isum[t][i], w[i], four);
    }
  }
}

/// x: the tokens' blocks, [TOKENS, num_blocks].
template <class Isa, Dtype dtype, int TILES, int TOKENS>
HEARTH_INLINE void accumulate_quantized(const uint8_t* weights, int64_t tile_bytes, const ActivationBlock* x,
                                        int64_t num_blocks, typename Isa::F8 (&acc)[TOKENS][TILES]) {
  using F8 = typename Isa::F8;
  constexpr int64_t kTileBlockBytes = int64_t{kTileRows} * dtype_info(dtype).block_bytes;
  constexpr int64_t kHalvesBytes = int64_t{kTileRows} * (dtype == Dtype::q4_1 ? 4 : 2);
  for (int64_t block = 0; block < num_blocks; ++block, weights += kTileBlockBytes, ++x) {
    typename Isa::I8 isum[TOKENS][TILES];
    if constexpr (dtype == Dtype::q8_0) {
      signed_products<Isa, TILES, TOKENS>(weights + kHalvesBytes, tile_bytes, x, num_blocks, isum);
    } else {
      nibble_products<Isa, dtype == Dtype::q4_0, TILES, TOKENS>(weights + kHalvesBytes, tile_bytes, x, num_blocks, isum);
    }
    HEARTH_UNROLL for (int i = 0; i < TILES; ++i) {
      const uint16_t* halves = reinterpret_cast<const uint16_t*>(weights + i * tile_bytes);
      const F8 scale = Isa::load(halves);
      HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
        const F8 product_scale = Isa::mul(scale, Isa::broadcast(x[t * num_blocks].scale));
        acc[t][i] = Isa::fma(Isa::to_float(isum[t][i]), product_scale, acc[t][i]);
      }
      if constexpr (dtype == Dtype::q4_1) {
        const F8 minimum = Isa::load(halves + kTileRows);
        HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
          acc[t][i] = Isa::fma(minimum, Isa::broadcast(x[t * num_blocks].scaled_sum), acc[t][i]);
        }
      }
    }
  }
}

}  // namespace hearth
