#pragma once

// What a processor can do at most with the primitives of a variant: arithmetic without the loads and conversions around
// it, and reads without arithmetic. native/measure runs them; a product is judged by its share of them.
//
// A round is a register block as the products have it: two vectors of weights against five of activations, so ten chains,
// which is what two multipliers of five cycles keep busy. Codes are read anew in each round (from L1) behind a barrier that
// the compiler cannot see through, so that no product can be taken out of the loop; results are stored, so that none
// can be left out.

#include <cstdint>
#include <cstring>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#include "kernels/compiler.h"
#include "kernels/kernel_table.h"

namespace hearth {

static constexpr int kPeakVectors = 2;
static constexpr int kPeakTokens = 5;

/// Memory may have changed, as far as the compiler knows.
static HEARTH_INLINE void forget_memory() {
#if defined(_MSC_VER) && !defined(__clang__)
  _ReadWriteBarrier();
#else
  __asm__ volatile("" ::: "memory");
#endif
}

/// A vector as it lies in memory, of any width.
template <class Vector>
HEARTH_INLINE Vector load_vector(const uint8_t* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

/// Puts a result where it counts as used.
template <class Vector>
HEARTH_INLINE void keep(const Vector& vector, uint8_t* memory) {
  static_assert(sizeof vector <= kPeakResultBytes, "a result fits the memory of a thread");
  std::memcpy(memory + kPeakInputBytes, &vector, sizeof vector);
  forget_memory();
}

/// Products are done in the widest vectors that the variant has.
template <class Isa>
double integer_peak(int64_t rounds, uint8_t* memory) {
  using Wide = typename Isa::Wide;
  using Codes = typename Wide::Codes;
  static_assert(kPeakVectors * sizeof(Codes) + 4 * kPeakTokens <= kPeakInputBytes, "the inputs fit the memory of a thread");
  typename Wide::Dots dots[kPeakTokens][kPeakVectors];
  typename Wide::FourCodes x[kPeakTokens];
  HEARTH_UNROLL for (int t = 0; t < kPeakTokens; ++t) {
    x[t] = Wide::broadcast_codes(reinterpret_cast<const int8_t*>(memory) + kPeakVectors * sizeof(Codes) + 4 * t);
    HEARTH_UNROLL for (int i = 0; i < kPeakVectors; ++i) dots[t][i] = Wide::no_dots();
  }
  for (int64_t round = 0; round < rounds; ++round) {
    forget_memory();
    Codes codes[kPeakVectors];
    HEARTH_UNROLL for (int i = 0; i < kPeakVectors; ++i) codes[i] = load_vector<Codes>(memory + i * sizeof(Codes));
    HEARTH_UNROLL for (int t = 0; t < kPeakTokens; ++t) {
      HEARTH_UNROLL for (int i = 0; i < kPeakVectors; ++i) dots[t][i] = Wide::dot(dots[t][i], codes[i], x[t]);
    }
  }
  HEARTH_UNROLL for (int t = 0; t < kPeakTokens; ++t) {
    HEARTH_UNROLL for (int i = 0; i < kPeakVectors; ++i) keep(dots[t][i], memory);
  }
  // A code is a byte.
  return 2.0 * static_cast<double>(rounds) * kPeakVectors * kPeakTokens * sizeof(Codes);
}

/// Chains that start alike would be one to the compiler, so each has a start of its own.
template <class Isa>
double fma_peak(int64_t rounds, uint8_t* memory) {
  using Wide = typename Isa::Wide;
  using Floats = typename Wide::F8;
  constexpr int kChains = kPeakVectors * kPeakTokens;
  static_assert((kChains + 2) * sizeof(Floats) <= kPeakInputBytes, "the inputs fit the memory of a thread");
  Floats sums[kChains];
  HEARTH_UNROLL for (int i = 0; i < kChains; ++i) sums[i] = load_vector<Floats>(memory + i * sizeof(Floats));
  const Floats factor = load_vector<Floats>(memory + kChains * sizeof(Floats));
  const Floats term = load_vector<Floats>(memory + (kChains + 1) * sizeof(Floats));
  for (int64_t round = 0; round < rounds; ++round) {
    forget_memory();
    HEARTH_UNROLL for (int i = 0; i < kChains; ++i) sums[i] = Wide::fma(sums[i], factor, term);
  }
  HEARTH_UNROLL for (int i = 0; i < kChains; ++i) keep(sums[i], memory);
  return 2.0 * static_cast<double>(rounds) * kChains * (sizeof(Floats) / sizeof(float));
}

/// In STREAMS streams side by side. Measured on a Zen 4: four read 3 to 7% more from memory than one, one 15% more from the
/// third level of cache than four; at the second all are alike.
template <class Isa, int STREAMS>
void read_bytes(const uint8_t* data, int64_t bytes, uint8_t* memory) {
  using Codes = typename Isa::Codes;
  constexpr int64_t kVector = sizeof(Codes);
  const int64_t stream_bytes = bytes / STREAMS;
  Codes seen[STREAMS];
  HEARTH_UNROLL for (int s = 0; s < STREAMS; ++s) seen[s] = load_vector<Codes>(data + s * stream_bytes);
  for (int64_t at = 0; at + 2 * kVector <= stream_bytes; at += 2 * kVector) {
    HEARTH_UNROLL for (int s = 0; s < STREAMS; ++s) {
      const uint8_t* from = data + s * stream_bytes + at;
      seen[s] = Isa::either(seen[s], Isa::either(load_vector<Codes>(from), load_vector<Codes>(from + kVector)));
    }
  }
  HEARTH_UNROLL for (int s = 0; s < STREAMS; ++s) keep(seen[s], memory);
}

template <class Isa>
void add_peak_kernels(KernelTable& table) {
  table.integer_peak = integer_peak<Isa>;
  table.fma_peak = fma_peak<Isa>;
  table.read_stream = read_bytes<Isa, 1>;
  table.read_four_streams = read_bytes<Isa, 4>;
}

}  // namespace hearth
