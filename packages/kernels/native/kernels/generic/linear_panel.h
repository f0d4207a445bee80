#pragma once

// Products of many tokens with quantized weights: the same chains as linear_block, walked in another order. The weights of
// VECTORS vectors are unpacked 256 elements of k at a time into a panel, all tokens meet it, and their accumulators wait in
// memory for the next one. So unpacking, which formats of 3, 5 and 6 bits spend more on than on products when only
// Isa::kTokens tokens share it, is paid once for up to 64. Measured with 64: 1.29 times as fast for q6_k in AVX2, 1.19 in
// AVX-512; 1.05 and 0.97 for q4_0.

#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/linear_quantized.h"
#include "kernels/generic/weight_panel.h"
#include "kernels/kernel_table.h"

namespace hearth {

/// Tokens whose accumulators wait together: with the panel they stay in the first cache.
constexpr int kPanelTokens = 64;
/// Fewer are not worth a panel.
constexpr int kFewestPanelTokens = 8;

/// Whether unpacking costs more than reading a panel back: not for whole bytes, and not for nibbles where dots are wide and
/// leave the units that shift and mask idle.
template <class Isa>
static constexpr bool is_worth_a_panel(Dtype dtype) {
  if (!is_quantized(dtype) || Isa::kVectors == 1) return false;
  const BlockFormat& format = block_format(dtype);
  return format.code_bits % 4 != 0 || format.kind == CodeKind::table || (format.code_bits == 4 && !Isa::kHasWideDots);
}

/// TOKENS tokens meet `num_chunks` chunks. x: their blocks from the panel's first on.
template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE void meet_panel(const PanelChunk<Isa, dtype, VECTORS>* panel, int64_t num_chunks, const ActivationBlock* x,
                              int64_t x_stride, WeightsAhead& ahead, typename Isa::F8 (*waiting)[VECTORS]) {
  typename Isa::F8 acc[TOKENS][VECTORS];
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) acc[t][i] = waiting[t][i];
  }
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    ahead.ask();
    accumulate_chunk<Isa, dtype, VECTORS, TOKENS>(panel[chunk], x + chunk, x_stride, acc);
  }
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) waiting[t][i] = acc[t][i];
  }
}

/// acc[t][i] for `num_tokens` tokens, a multiple of TOKENS and at most kPanelTokens. x: their blocks, [num_tokens, num_x_blocks].
template <class Isa, Dtype dtype, int VECTORS, int TOKENS>
HEARTH_INLINE void accumulate_panels(const uint8_t* weights, int64_t tile_bytes, const ActivationBlock* x, int64_t num_x_blocks,
                                     int64_t num_tokens, WeightsAhead& ahead, typename Isa::F8 (*acc)[VECTORS]) {
  constexpr BlockFormat format = block_format(dtype);
  PanelChunk<Isa, dtype, VECTORS> panel[kPanelChunks];
  for (int64_t first = 0; first < num_x_blocks; first += kPanelChunks) {
    const int64_t num_chunks = num_x_blocks - first < kPanelChunks ? num_x_blocks - first : kPanelChunks;
    for (int64_t i = 0; i < num_chunks; ++i) {
      const int64_t chunk = first + i;
      panel[i].unpack(TileChunk<Isa, dtype>{weights + chunk / format.chunks * tile_block_bytes(dtype), chunk % format.chunks, tile_bytes});
    }
    for (int64_t token = 0; token < num_tokens; token += TOKENS) {
      meet_panel<Isa, dtype, VECTORS, TOKENS>(panel, num_chunks, x + token * num_x_blocks + first, num_x_blocks, ahead, acc + token);
    }
  }
}

}  // namespace hearth
