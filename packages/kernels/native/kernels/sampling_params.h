#pragma once

#include <cstdint>

namespace hearth {

/// How one row of logits becomes a token (docs/numerics.md, "Sampling"). Ranges are those of packages/sampler, and the
/// binding's to check.
struct SamplingParams {
  /// 0 or more; below 2^-30 the best token is taken. f64, as the limit is on what was asked for, not on its f32.
  double temperature;
  /// 0: no limit.
  int64_t top_k;
  /// 0 to 1; 1: off.
  float top_p;
  /// 0 to 1; 0: off.
  float min_p;
  uint64_t seed;
  uint32_t choice_index;
  int64_t num_completion_tokens;
};

/// Tokens that share one largest logit, which is looked at before they are (generic/candidates.h).
static constexpr int64_t kSamplingBlock = 64;

static constexpr int64_t num_sampling_blocks(int64_t vocab_size) { return (vocab_size + kSamplingBlock - 1) / kSamplingBlock; }

/// Keys that there must be room for: a block may be written past the last one that counts.
static constexpr int64_t sampling_capacity(int64_t vocab_size) { return (num_sampling_blocks(vocab_size) + 1) * kSamplingBlock; }

/// Scratch of sampling from a row: two arrays of keys, and the largest logit of each block. A multiple of 64.
static constexpr int64_t sampling_scratch_bytes(int64_t vocab_size) {
  return 2 * 4 * sampling_capacity(vocab_size) + (num_sampling_blocks(vocab_size) * 4 + 63) / 64 * 64;
}

}  // namespace hearth
