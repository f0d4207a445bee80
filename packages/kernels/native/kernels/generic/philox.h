#pragma once

// The random number of one token: the twin of packages/sampler/src/random.

#include <cstdint>

namespace hearth {

/// The first word of Philox4x32-10, a random function of a 128-bit counter and a 64-bit key, without any state (Salmon,
/// Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC11). Words are listed least significant first.
static inline uint32_t philox4x32(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xd2511f53u} * c0;
    const uint64_t product1 = uint64_t{0xcd9e8d57u} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(product0);
    // The golden ratio and sqrt(3) - 1, as 32-bit fractions.
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c0;
}

/// An f32 of 24 bits in [0, 1). Key: the seed. Counter: completion tokens so far (two words), choice index, 0.
static inline float uniform_draw(uint64_t seed, uint32_t choice_index, int64_t num_completion_tokens) {
  const uint64_t position = static_cast<uint64_t>(num_completion_tokens);
  const uint32_t word = philox4x32(static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), choice_index, 0,
                                   static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

}  // namespace hearth
