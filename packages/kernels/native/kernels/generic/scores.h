#pragma once

// The scores of a row: its logits after biases, penalties and mask, in a copy (docs/numerics.md, "Sampling"). What is
// changed is few tokens of many, so none of this is in vectors.

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/compiler.h"
#include "kernels/sampling_params.h"

namespace hearth {

/// The largest float in place of an infinity: a penalty may not ban or force a token.
static HEARTH_INLINE float clamp_to_float(float score) { return score > FLT_MAX ? FLT_MAX : score < -FLT_MAX ? -FLT_MAX : score; }

/// Once for each distinct token. `counts` is all 0, before and after.
static inline void penalize_repetition(float* scores, const TokenSpan& recent, float penalty, int32_t* counts) {
  for (int64_t i = 0; i < recent.count; ++i) {
    const int32_t id = recent.ids[i];
    if (counts[id]++ > 0) continue;
    scores[id] = clamp_to_float(scores[id] > 0.0f ? scores[id] / penalty : scores[id] * penalty);
  }
  for (int64_t i = 0; i < recent.count; ++i) counts[recent.ids[i]] = 0;
}

/// `frequency` for each time that a token is there, and `presence` once. `counts` is all 0, before and after.
static inline void penalize_frequency_presence(float* scores, const TokenSpan& generated, float frequency, float presence, int32_t* counts) {
  for (int64_t i = 0; i < generated.count; ++i) ++counts[generated.ids[i]];
  for (int64_t i = 0; i < generated.count; ++i) {
    const int32_t id = generated.ids[i];
    const int32_t count = counts[id];
    if (count == 0) continue;
    counts[id] = 0;
    // In f64 the count is exact, whatever it is: one rounding.
    const float by_frequency = static_cast<float>(static_cast<double>(count) * static_cast<double>(frequency));
    scores[id] = clamp_to_float((scores[id] - by_frequency) - presence);
  }
}

static inline void ban_masked(float* scores, int64_t vocab_size, const uint32_t* mask) {
  for (int64_t first = 0; first < vocab_size; first += 32) {
    const uint32_t allowed = mask[first / 32];
    if (allowed == 0xffffffffu) continue;
    const int64_t count = vocab_size - first < 32 ? vocab_size - first : 32;
    for (int64_t i = 0; i < count; ++i) scores[first + i] = (allowed >> i & 1) != 0 ? scores[first + i] : -HUGE_VALF;
  }
}

/// Writes the scores of a row of finite logits. A score is finite, or that of a banned token, -infinity.
static inline void write_scores(const float* logits, int64_t vocab_size, const SamplingParams& params, float* scores, int32_t* counts) {
  std::memcpy(scores, logits, static_cast<std::size_t>(vocab_size) * sizeof(float));
  for (int64_t i = 0; i < params.biased.count; ++i) scores[params.biased.ids[i]] += params.biases[i];
  penalize_repetition(scores, params.recent, params.repetition_penalty, counts);
  penalize_frequency_presence(scores, params.generated, params.frequency_penalty, params.presence_penalty, counts);
  if (params.mask != nullptr) ban_masked(scores, vocab_size, params.mask);
}

}  // namespace hearth
