#pragma once

// isum = Σ_s sub_s · Σ code · x of one chunk, for VECTORS vectors x TOKENS tokens, exact in integers (docs/numerics.md,
// "linear, quantized weights"): the integer part of every quantized type. The weights are those of a chunk as weight_chunk.h
// gives them; x[t · x_stride] are the activations of token t.
//
// Codes are unsigned bytes for as long as possible, because products of unsigned by signed bytes are what processors
// have instructions for. With VNNI (Isa::kHasWideDots) they are added to 32 bits, and signed codes take part as code + 128,
// less an offset of 128; NEON has products of signed bytes (Isa::kHasSignedDots) and takes all codes as they are. Without,
// they are added in pairs to 16 bits. Why 16 bits suffice: a lane gets two products of each group. With an offset it starts
// at -offset · (sum of all activation codes it will meet), so after any number of groups it holds one term for each code:
// (code - offset) · x where it has been, -offset · x where not, at most offset · 127 each. That is
//
//   16 terms of  8 · 127 = 16,256   4 bits less  8, a whole chunk
//   16 terms of 16 · 127 = 32,512   5 bits less 16, a whole chunk; 4 bits less a zero point of up to 16
//    8 terms of 32 · 127 = 32,512   6 bits less 32, half a chunk
//    8 terms of  4 · 127            3 bits less 4, half a chunk
//   16 terms of 15 · 127 = 30,480   4 bits as they are
//    8 terms of  3 · 127            2 bits as they are, half a chunk
//
// A single pair is at most 2 · 63 · 127 = 16,002. Codes of 5 bits without an offset are taken less 16 all the same, and
// 16 · Σ x is added to the total.

#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/compiler.h"
#include "kernels/generic/matrix_products.h"
#include "kernels/generic/weight_chunk.h"

namespace hearth {

/// What the bytes of a group are too large by: that of the format; 128 for signed codes that became unsigned; 16 in 16-bit
/// lanes for codes of 5 bits that have no offset.
template <class Isa>
static constexpr int32_t lane_offset(const BlockFormat& format) {
  if (has_signed_codes(format)) return Isa::kHasSignedDots ? 0 : 128;
  return format.code_bits == 5 && !Isa::kHasWideDots ? 16 : format.offset;
}

/// -offset · Σ x of what a lane will meet, from -8 · Σ x: exact also where it divides.
template <class Isa, Dtype dtype>
HEARTH_INLINE typename Isa::Dots start_dots(const ActivationBlock& x, int part) {
  constexpr BlockFormat format = block_format(dtype);
  constexpr int32_t offset = lane_offset<Isa>(format);
  if constexpr (offset == 0) {
    return Isa::no_dots();
  } else {
    constexpr int shift = offset == 4 ? -1 : offset == 8 ? 0 : offset == 16 ? 1 : offset == 32 ? 2 : 4;
    if constexpr (format.sub_scales == 2) return Isa::shifted(part == 0 ? Isa::lower_offsets(x) : Isa::upper_offsets(x), shift);
    return Isa::shifted(Isa::offsets(x), shift);
  }
}

/// sub_s · the sums of a part.
template <class Isa, Dtype dtype, class Weights>
HEARTH_INLINE typename Isa::I8 part_total(typename Isa::Dots dots, const Weights& weights, int vector, int part) {
  if constexpr (block_format(dtype).sub_scales == 0) return Isa::total(dots);
  else return Isa::total(dots, weights.sub_scales(vector, part));
}

/// Formats whose codes are unsigned, less an offset or a zero point; with wide dots, all of them.
template <class Isa, Dtype dtype, int VECTORS, int TOKENS, class Weights>
HEARTH_INLINE void unsigned_products(const Weights& weights, const ActivationBlock* x, int64_t x_stride,
                                     typename Isa::I8 (&isum)[TOKENS][VECTORS]) {
  constexpr BlockFormat format = block_format(dtype);
  /// Parts of a chunk that have a scale of their own; a part is walked two groups at a time, which share a plane.
  constexpr int kParts = format.sub_scales == 2 ? 2 : 1;
  constexpr int kSteps = 4 / kParts;
  HEARTH_UNROLL for (int part = 0; part < kParts; ++part) {
    typename Isa::Dots dots[TOKENS][VECTORS];
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
        if constexpr (format.kind == CodeKind::zero_point) {
          dots[t][i] = Isa::times(Isa::shifted(Isa::offsets(x[t * x_stride]), -3), weights.zero_points(i));
        } else {
          dots[t][i] = start_dots<Isa, dtype>(x[t * x_stride], part);
        }
      }
    }
    if constexpr (Isa::kHasMatrixProducts && TOKENS > 1) {
      add_matrix_dots<Isa, 2 * kSteps>(weights, 2 * kSteps * part, x, x_stride, dots);
    } else {
      HEARTH_UNROLL for (int step = 0; step < kSteps; ++step) {
        const int g = 4 * part + step;
        typename Isa::Codes low[VECTORS], high[VECTORS];
        HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
          low[i] = weights.codes(i, g);
          high[i] = weights.codes(i, g + kSteps);
        }
        HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
          const int8_t* activations = x[t * x_stride].codes;
          const typename Isa::FourCodes x_low = Isa::broadcast_codes(activations + 4 * g);
          HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) dots[t][i] = Isa::dot(dots[t][i], low[i], x_low);
          const typename Isa::FourCodes x_high = Isa::broadcast_codes(activations + 4 * (g + kSteps));
          HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) dots[t][i] = Isa::dot(dots[t][i], high[i], x_high);
        }
      }
    }
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
      HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
        typename Isa::I8 sum = part_total<Isa, dtype>(dots[t][i], weights, i, part);
        if constexpr (format.offset == 0 && lane_offset<Isa>(format) == 16) {
          sum = Isa::subtract(sum, part_total<Isa, dtype>(start_dots<Isa, dtype>(x[t * x_stride], part), weights, i, part));
        }
        isum[t][i] = part == 0 ? sum : Isa::add(isum[t][i], sum);
      }
    }
  }
}

/// Formats with signed codes, where dots are not wide.
template <class Isa, Dtype dtype, int VECTORS, int TOKENS, class Weights>
HEARTH_INLINE void signed_products(const Weights& weights, const ActivationBlock* x, int64_t x_stride,
                                   typename Isa::I8 (&isum)[TOKENS][VECTORS]) {
  constexpr BlockFormat format = block_format(dtype);
  HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) isum[t][i] = Isa::zero_integers();
  }
  [[maybe_unused]] typename Isa::RowScales scales[VECTORS];
  if constexpr (format.sub_scales == 1) {
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) scales[i] = weights.sub_scales(i, 0);
  }
  HEARTH_UNROLL for (int g = 0; g < 8; ++g) {
    typename Isa::Codes w[VECTORS];
    HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) w[i] = weights.codes(i, g);
    HEARTH_UNROLL for (int t = 0; t < TOKENS; ++t) {
      const typename Isa::FourCodes four = Isa::broadcast_codes(x[t * x_stride].codes + 4 * g);
      HEARTH_UNROLL for (int i = 0; i < VECTORS; ++i) {
        if constexpr (format.sub_scales == 1) isum[t][i] = Isa::signed_dot(isum[t][i], w[i], four, scales[i]);
        else isum[t][i] = Isa::signed_dot(isum[t][i], w[i], four);
      }
    }
  }
}

template <class Isa, Dtype dtype, int VECTORS, int TOKENS, class Weights>
HEARTH_INLINE void integer_products(const Weights& weights, const ActivationBlock* x, int64_t x_stride,
                                    typename Isa::I8 (&isum)[TOKENS][VECTORS]) {
  if constexpr (has_signed_codes(block_format(dtype)) && !Isa::kHasWideDots) {
    signed_products<Isa, dtype, VECTORS, TOKENS>(weights, x, x_stride, isum);
  } else {
    unsigned_products<Isa, dtype, VECTORS, TOKENS>(weights, x, x_stride, isum);
  }
}

}  // namespace hearth
