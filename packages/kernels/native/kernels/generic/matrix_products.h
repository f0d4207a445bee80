#pragma once

// The dots of a chunk for several tokens where the processor multiplies small matrices of bytes (Isa::kHasMatrixProducts,
// with the primitives of kernels/neon_i8mm/isa.h): two rows x 8 k by 8 k x two tokens in one instruction. Lanes have
// 32 bits, so any order of adding is exact, and the results are those of `dot`.
//
// Tokens are taken two at a time; an odd last one is its own partner, and its second sum is not used.

#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"

namespace hearth {

/// dots[t][i] += Σ code · x over groups first_group .. first_group + GROUPS - 1 of a chunk (weight_chunk.h), GROUPS even.
template <class Isa, int GROUPS, int VECTORS, int TOKENS, class Weights>
HEARTH_INLINE void add_matrix_dots(const Weights& weights, int first_group, const ActivationBlock* x, int64_t x_stride,
                                   typename Isa::Dots (&dots)[TOKENS][VECTORS]) {
  constexpr int kPairs = (TOKENS + 1) / 2;
  typename Isa::PairDots sums[kPairs][VECTORS];
  HEARTH_UNROLL for (int p = 0; p < kPairs; ++p) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) sums[p][i] = Isa::no_pair_dots();
  }
  HEARTH_UNROLL for (int g = first_group; g < first_group + GROUPS; g += 2) {
    typename Isa::RowPairs codes[VECTORS];
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) codes[i] = Isa::row_pairs(weights.codes(i, g), weights.codes(i, g + 1));
    HEARTH_UNROLL for (int p = 0; p < kPairs; ++p) {
      const int first = 2 * p;
      const int second = first + 1 < TOKENS ? first + 1 : first;
      const typename Isa::TokenPair tokens = Isa::load_token_pair(x[first * x_stride].codes + 4 * g, x[second * x_stride].codes + 4 * g);
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) sums[p][i] = Isa::matrix_dot(sums[p][i], codes[i], tokens);
    }
  }
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      const typename Isa::PairDots& sum = sums[t / 2][i];
      dots[t][i] = Isa::add(dots[t][i], t % 2 == 0 ? Isa::first_token(sum) : Isa::second_token(sum));
    }
  }
}

}  // namespace hearth
