#pragma once

// A token from a row of logits: the twin of packages/sampler, bit for bit (docs/numerics.md, "Sampling").
//
//   scores = logits with biases, penalties and mask;
//   candidates in order, at most top_k; weight = exp((score - best) / T) as long as it raises the running sum;
//   the most typical of them; the shortest prefix that reaches top_p · total; of it, weights from min_p · the best one;
//   the first candidate whose running weight exceeds u · total
//
// The running sums of the last three steps are the same numbers, so they are taken once.

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/candidates.h"
#include "kernels/generic/math.h"
#include "kernels/generic/philox.h"
#include "kernels/generic/scores.h"
#include "kernels/generic/typical.h"
#include "kernels/sampling_params.h"

namespace hearth {

/// Below it, two logits that differ are so far apart that only exact ties are left.
static constexpr double kGreedyTemperature = 0x1p-30;

/// Candidates below it have a weight under exp(-17.6) < 2^-25. The running sum starts at exp(0) = 1, which that leaves
/// as it is.
static constexpr double kNegligibleScaledLogit = -17.6;

/// Logits at or below it need not be ordered. The second term of the range is far below the distance of the next float
/// and keeps the floor below the best logit where that is so large that the first one vanishes beside it.
static inline float candidate_floor(float best, float divisor) {
  const double by_weight = -kNegligibleScaledLogit * static_cast<double>(divisor);
  const double by_magnitude = std::fabs(static_cast<double>(best)) * 0x1p-40;
  const double floor = static_cast<double>(best) - (by_weight > by_magnitude ? by_weight : by_magnitude);
  if (floor < -static_cast<double>(FLT_MAX)) return -HUGE_VALF;
  const float nearest = static_cast<float>(floor);
  return static_cast<double>(nearest) > floor ? nextafterf(nearest, -HUGE_VALF) : nearest;
}

/// Candidates that are weighed before it is looked whether they still count.
static constexpr int64_t kWeighedAtOnce = 64;

/// Scaled logits and weights of the candidates, and their running sums, as far as each weight raises the sum. Returns how
/// many that are. The arrays have room for `count` rounded up to 8; what is there past `count` means nothing.
template <class Isa>
int64_t weigh_candidates(const uint32_t* keys, int64_t count, float best, float divisor, float* scaled, float* weights, float* sums) {
  const typename Isa::F8 largest = Isa::broadcast(best);
  const typename Isa::F8 temperature = Isa::broadcast(divisor);
  float sum = 0.0f;
  for (int64_t first = 0; first < count; first += kWeighedAtOnce) {
    const int64_t end = first + kWeighedAtOnce < count ? first + kWeighedAtOnce : count;
    for (int64_t i = first; i < end; ++i) scaled[i] = logit_of(keys[i]);
    for (int64_t i = first; i < end; i += 8) {
      const typename Isa::F8 quotient = Isa::div(Isa::sub(Isa::load(scaled + i), largest), temperature);
      Isa::store(scaled + i, quotient);
      Isa::store(weights + i, exp8<Isa>(quotient));
    }
    for (int64_t i = first; i < end; ++i) {
      const float raised = sum + weights[i];
      if (raised == sum) return i;
      sum = raised;
      sums[i] = sum;
    }
  }
  return count;
}

/// Place of the candidate that is drawn from those that top-p and min-p leave.
static inline int64_t draw_place(const float* weights, const float* sums, int64_t count, const SamplingParams& params) {
  int64_t last = count - 1;
  if (params.top_p < 1.0f) {
    const float wanted = params.top_p * sums[last];
    int64_t reached = 0;
    while (reached < last && sums[reached] < wanted) ++reached;
    last = reached;
  }
  if (params.min_p > 0.0f) {
    const float least = params.min_p * weights[0];
    int64_t kept = 0;
    while (kept < last && weights[kept + 1] >= least) ++kept;
    last = kept;
  }
  // u is at most 1 - 2^-24, so the product stays below the total: a sum exceeds it.
  const float drawn = uniform_draw(params.seed, params.choice_index, params.num_completion_tokens) * sums[last];
  int64_t chosen = 0;
  while (chosen < last && !(sums[chosen] > drawn)) ++chosen;
  return chosen;
}

/// The token's id, kLogitNotFinite or kNoTokenAllowed. `memory` is that of a SamplingScratch.
template <class Isa>
int32_t sample_row(const float* logits, int64_t vocab_size, const SamplingParams& params, uint8_t* memory) {
  const SamplingScratch scratch = sampling_scratch(memory, vocab_size);
  const float* scores = logits;
  if (!block_maxima<Isa>(logits, vocab_size, scratch.maxima)) return kLogitNotFinite;
  if (changes_logits(params)) {
    write_scores(logits, vocab_size, params, scratch.scores, scratch.counts);
    scores = scratch.scores;
    block_maxima<Isa>(scores, vocab_size, scratch.maxima);
  }
  const int32_t best_id = best_token(scores, vocab_size, scratch.maxima);
  const float best = scores[best_id];
  if (best == -HUGE_VALF) return kNoTokenAllowed;
  if (params.temperature < kGreedyTemperature) return best_id;

  const float divisor = params.temperature < static_cast<double>(FLT_MAX) ? static_cast<float>(params.temperature) : FLT_MAX;
  const int64_t limit = params.top_k == 0 || params.top_k > vocab_size ? vocab_size : params.top_k;
  uint32_t* keys = scratch.keys;
  uint32_t* spare = scratch.spare;
  int64_t count = select_keys(scores, vocab_size, scratch.maxima, candidate_floor(best, divisor), limit, keys, spare);

  // Once the keys are sorted, the other array is free.
  float* sums = reinterpret_cast<float*>(spare);
  count = weigh_candidates<Isa>(keys, count, best, divisor, scratch.scaled, scratch.weights, sums);
  TypicalCandidates typical = {0, count, count, count};
  if (params.typical_p < 1.0) {
    count = keep_typical<Isa>(static_cast<float>(params.typical_p), scratch.scaled, scratch.weights, count, sums[count - 1], &typical);
    float sum = 0.0f;
    for (int64_t i = 0; i < count; ++i) sums[i] = sum += scratch.weights[i];
  }
  const int64_t place = draw_place(scratch.weights, sums, count, params);
  return token_at(scores, scratch.maxima, keys, place_before(typical, place));
}

}  // namespace hearth
