#pragma once

// The logits of a row in the order of sampling, descending, as far down as sampling looks.
//
// The result is that of sorting the whole row and cutting it. What is done: one walk in vectors finds the largest logit
// of each block; a second walk, over these maxima, looks into the blocks above a running threshold and collects what is
// there. A full buffer is sorted and cut back, and the worst survivor becomes the threshold.
//
// Only logits are sorted, without the ids of their tokens: half the bytes to move. Among equal ones the lower id comes
// first, so the place of a logit in the order says which of its tokens is meant.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/compiler.h"
#include "kernels/sampling_params.h"

namespace hearth {

/// Ascends as the logit descends; -0 and 0 are equal. Positive floats have the order of their bits, negative ones the
/// reverse. -0 has only the sign bit.
static HEARTH_INLINE uint32_t descending_key(float logit) {
  uint32_t bits;
  std::memcpy(&bits, &logit, sizeof bits);
  const uint32_t positive = 0x7fffffffu - bits;
  return bits <= 0x80000000u ? positive & 0x7fffffffu : bits;
}

/// The inverse, but that -0 comes back as +0.
static HEARTH_INLINE float logit_of(uint32_t key) {
  const uint32_t bits = key <= 0x7fffffffu ? 0x7fffffffu - key : key;
  float logit;
  std::memcpy(&logit, &bits, sizeof logit);
  return logit;
}

/// Largest logit of each block of the row. Returns whether all logits are finite.
template <class Isa>
bool block_maxima(const float* logits, int64_t vocab_size, float* maxima) {
  using F8 = typename Isa::F8;
  constexpr int kVectors = kSamplingBlock / 8;
  // One chain of taints would take as long as all the rest.
  F8 taints[kVectors];
  HEARTH_UNROLL
  for (int v = 0; v < kVectors; ++v) taints[v] = Isa::zero();

  const int64_t num_whole = vocab_size / kSamplingBlock;
  for (int64_t block = 0; block < num_whole; ++block) {
    F8 largest = Isa::load(logits + block * kSamplingBlock);
    taints[0] = Isa::taint(taints[0], largest);
    HEARTH_UNROLL
    for (int v = 1; v < kVectors; ++v) {
      const F8 x = Isa::load(logits + block * kSamplingBlock + v * 8);
      largest = Isa::max(largest, x);
      taints[v] = Isa::taint(taints[v], x);
    }
    maxima[block] = Isa::max_lane(largest);
  }
  bool finite = true;
  HEARTH_UNROLL
  for (int v = 0; v < kVectors; ++v) finite &= Isa::is_clean(taints[v]);

  const int64_t start = num_whole * kSamplingBlock;
  if (start < vocab_size) maxima[num_whole] = -HUGE_VALF;
  for (int64_t id = start; id < vocab_size; ++id) {
    finite &= logits[id] - logits[id] == 0.0f;
    if (logits[id] > maxima[num_whole]) maxima[num_whole] = logits[id];
  }
  return finite;
}

/// The lowest id that holds the largest logit of a finite row.
static inline int32_t best_token(const float* logits, int64_t vocab_size, const float* maxima) {
  const int64_t num_blocks = num_sampling_blocks(vocab_size);
  int64_t best_block = 0;
  for (int64_t block = 1; block < num_blocks; ++block) {
    if (maxima[block] > maxima[best_block]) best_block = block;
  }
  int64_t id = best_block * kSamplingBlock;
  while (logits[id] != maxima[best_block]) ++id;
  return static_cast<int32_t>(id);
}

/// Sorts keys ascending: least significant digit first, so the time is linear. The sorted keys are then in `keys`,
/// which changes places with `spare` when they have to.
static inline void sort_keys(uint32_t*& keys, uint32_t*& spare, int64_t count) {
  constexpr int kDigits = 3;
  constexpr int kDigitBits = 11;
  constexpr uint32_t kBuckets = 1u << kDigitBits;
  int32_t starts[kDigits][kBuckets] = {};
  for (int64_t i = 0; i < count; ++i) {
    for (int digit = 0; digit < kDigits; ++digit) ++starts[digit][keys[i] >> (kDigitBits * digit) & (kBuckets - 1)];
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    const int shift = kDigitBits * digit;
    // All keys share this digit (exponents often do): nothing would move.
    if (count == 0 || starts[digit][keys[0] >> shift & (kBuckets - 1)] == count) continue;
    int32_t start = 0;
    for (int32_t& bucket : starts[digit]) {
      const int32_t size = bucket;
      bucket = start;
      start += size;
    }
    for (int64_t i = 0; i < count; ++i) spare[starts[digit][keys[i] >> shift & (kBuckets - 1)]++] = keys[i];
    uint32_t* const sorted = spare;
    spare = keys;
    keys = sorted;
  }
}

/// Below it, sorting costs less than the bookkeeping it would save.
static constexpr int64_t kLeastBuffer = 2048;

/// A float below at least `limit` logits, or `floor` if that is larger: `limit` blocks hold a logit that is at least as
/// large as the limit-th of their maxima.
static inline float first_threshold(const float* maxima, int64_t num_blocks, float floor, int64_t limit, uint32_t*& keys,
                                    uint32_t*& spare) {
  if (limit > num_blocks) return floor;
  for (int64_t block = 0; block < num_blocks; ++block) keys[block] = descending_key(maxima[block]);
  sort_keys(keys, spare, num_blocks);
  const float below = nextafterf(logit_of(keys[limit - 1]), -HUGE_VALF);
  return below > floor ? below : floor;
}

/// Appends the keys below `limit` of up to kSamplingBlock logits to `keys`, which has room for a block more, and returns how
/// many they are.
static inline int64_t append_keys(const float* logits, int64_t count, uint32_t limit, uint32_t* keys) {
  // Two loops that compilers turn into vectors, and a third one only for blocks that are neither in nor out.
  uint32_t block[kSamplingBlock];
  uint32_t num_kept = 0;
  for (int64_t i = 0; i < count; ++i) block[i] = descending_key(logits[i]);
  for (int64_t i = 0; i < count; ++i) num_kept += block[i] < limit;
  if (num_kept == count) {
    std::memcpy(keys, block, static_cast<std::size_t>(count) * sizeof(uint32_t));
    return count;
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    // Written in any case, kept if it counts: whether it does is hard to predict.
    keys[kept] = block[i];
    kept += block[i] < limit;
  }
  return kept;
}

/// Fills `keys` with those of the logits above `floor`, best first, at most `limit` of them, and returns how many there
/// are. Both arrays have room for sampling_capacity(vocab_size), and may change places.
static inline int64_t select_keys(const float* logits, int64_t vocab_size, const float* maxima, float floor, int64_t limit,
                                  uint32_t*& keys, uint32_t*& spare) {
  const int64_t full = limit > vocab_size / 2 ? vocab_size : 2 * limit > kLeastBuffer ? 2 * limit : kLeastBuffer;
  float threshold = first_threshold(maxima, num_sampling_blocks(vocab_size), floor, limit, keys, spare);
  int64_t count = 0;
  for (int64_t first = 0; first < vocab_size; first += kSamplingBlock) {
    if (!(maxima[first / kSamplingBlock] > threshold)) continue;
    if (count > full) {
      sort_keys(keys, spare, count);
      count = limit;
      threshold = logit_of(keys[limit - 1]);
    }
    const int64_t size = first + kSamplingBlock < vocab_size ? kSamplingBlock : vocab_size - first;
    count += append_keys(logits + first, size, descending_key(threshold), keys + count);
  }
  sort_keys(keys, spare, count);
  return count < limit ? count : limit;
}

/// Id of the token whose logit is at `place` of the sorted keys.
static inline int32_t token_at(const float* logits, const float* maxima, const uint32_t* keys, int64_t place) {
  const float logit = logit_of(keys[place]);
  int64_t equals_before = 0;
  while (place > equals_before && keys[place - equals_before - 1] == keys[place]) ++equals_before;
  for (int64_t first = 0;; first += kSamplingBlock) {
    if (maxima[first / kSamplingBlock] < logit) continue;
    for (int64_t id = first; id < first + kSamplingBlock; ++id) {
      if (logits[id] == logit && equals_before-- == 0) return static_cast<int32_t>(id);
    }
  }
}

}  // namespace hearth
