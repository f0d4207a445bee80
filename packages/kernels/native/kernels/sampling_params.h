#pragma once

#include <cstdint>

namespace hearth {

/// Token ids of the vocabulary, in memory of whoever asks for a sample.
struct TokenSpan {
  const int32_t* ids;
  int64_t count;
};

/// How one row of logits becomes a token (docs/numerics.md, "Sampling"). Ranges are those of packages/sampler, and the
/// binding's to check.
struct SamplingParams {
  /// 0 or more; below 2^-30 the best token is taken. f64, as the limit is on what was asked for, not on its f32.
  double temperature = 1.0;
  /// 0: no limit.
  int64_t top_k = 0;
  /// 0 to 1; 1: off.
  float top_p = 1.0f;
  /// 0 to 1; 0: off.
  float min_p = 0.0f;
  /// 0 to 1; 1: off. f64 for the same reason.
  double typical_p = 1.0;
  uint64_t seed = 0;
  uint32_t choice_index = 0;
  int64_t num_completion_tokens = 0;

  // What changes logits before all that.

  /// Added to the logits of distinct tokens.
  TokenSpan biased = {nullptr, 0};
  const float* biases = nullptr;
  /// The tokens that the repetition penalty looks at; none: off.
  TokenSpan recent = {nullptr, 0};
  float repetition_penalty = 1.0f;
  /// The tokens that the frequency and the presence penalty look at; none: off.
  TokenSpan generated = {nullptr, 0};
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  /// Bit id % 32 of word id / 32 is set where a token is allowed; null: all are.
  const uint32_t* mask = nullptr;
};

static constexpr bool changes_logits(const SamplingParams& params) {
  return params.biased.count > 0 || params.recent.count > 0 || params.generated.count > 0 || params.mask != nullptr;
}

/// What sampling gives instead of a token's id.
static constexpr int32_t kLogitNotFinite = -1;
static constexpr int32_t kNoTokenAllowed = -2;

/// Tokens that share one largest logit, which is looked at before they are (generic/candidates.h).
static constexpr int64_t kSamplingBlock = 64;

static constexpr int64_t num_sampling_blocks(int64_t vocab_size) { return (vocab_size + kSamplingBlock - 1) / kSamplingBlock; }

static constexpr int64_t num_mask_words(int64_t vocab_size) { return (vocab_size + 31) / 32; }

/// Keys that there must be room for: a block may be written past the last one that counts.
static constexpr int64_t sampling_capacity(int64_t vocab_size) { return (num_sampling_blocks(vocab_size) + 1) * kSamplingBlock; }

/// Memory of a thread that samples. A row touches of it what its parameters need.
struct SamplingScratch {
  // Each [sampling_capacity(vocab_size)].

  uint32_t* keys;
  uint32_t* spare;
  float* weights;
  float* scaled;
  float* scores;
  /// All 0 between any two rows.
  int32_t* counts;

  /// [num_sampling_blocks(vocab_size)]
  float* maxima;
};

static constexpr int64_t sampling_scratch_bytes(int64_t vocab_size) {
  return 6 * 4 * sampling_capacity(vocab_size) + (num_sampling_blocks(vocab_size) * 4 + 63) / 64 * 64;
}

/// `memory`: sampling_scratch_bytes(vocab_size), on a cache line, zeroed before its first use.
static inline SamplingScratch sampling_scratch(uint8_t* memory, int64_t vocab_size) {
  const int64_t capacity = sampling_capacity(vocab_size);
  SamplingScratch scratch;
  scratch.keys = reinterpret_cast<uint32_t*>(memory);
  scratch.spare = scratch.keys + capacity;
  scratch.weights = reinterpret_cast<float*>(scratch.spare + capacity);
  scratch.scaled = scratch.weights + capacity;
  scratch.scores = scratch.scaled + capacity;
  scratch.counts = reinterpret_cast<int32_t*>(scratch.scores + capacity);
  scratch.maxima = reinterpret_cast<float*>(scratch.counts + capacity);
  return scratch;
}

}  // namespace hearth
