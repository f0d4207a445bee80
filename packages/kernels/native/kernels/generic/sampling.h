#pragma once

// A token from a row of logits: the twin of packages/sampler, bit for bit (docs/numerics.md, "Sampling").
//
//   candidates in order, at most top_k; weight = exp((logit - best) / T) as long as it raises the running sum;
//   the shortest prefix that reaches top_p · total; of it, weights from min_p · the best one; the first candidate
//   whose running weight exceeds u · total
//
// The running sums of all these steps are the same numbers, so they are taken once.

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/compiler.h"
#include "kernels/generic/candidates.h"
#include "kernels/generic/math.h"
#include "kernels/generic/philox.h"
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

/// What there is to draw from: the running sums of the weights, up to the last one that raises the sum.
struct WeighedCandidates {
  int64_t count;
  /// How many come before the first weight below min_p, which is min_p times that of the best, exp(0) = 1. At least
  /// one.
  int64_t num_above_min_p;
};

/// Weights and sums them in order. `sums` has room for `count`.
template <class Isa>
WeighedCandidates weigh_candidates(const uint32_t* keys, int64_t count, float best, float divisor, float min_p, float* sums) {
  WeighedCandidates result = {0, 0};
  bool is_above = true;
  float sum = 0.0f;
  for (int64_t first = 0; first < count; first += 8) {
    float lanes[8];
    for (int lane = 0; lane < 8; ++lane) lanes[lane] = first + lane < count ? logit_of(keys[first + lane]) : best;
    const typename Isa::F8 difference = Isa::sub(Isa::load(lanes), Isa::broadcast(best));
    Isa::store(lanes, exp8<Isa>(Isa::div(difference, Isa::broadcast(divisor))));
    for (int lane = 0; lane < 8 && first + lane < count; ++lane) {
      const float raised = sum + lanes[lane];
      if (raised == sum) return result;
      sum = raised;
      sums[result.count++] = sum;
      is_above &= lanes[lane] >= min_p;
      result.num_above_min_p += is_above;
    }
  }
  return result;
}

/// The token's id, or -1 when a logit is not finite. `scratch` has sampling_scratch_bytes(vocab_size) and starts on a
/// cache line.
template <class Isa>
int32_t sample_row(const float* logits, int64_t vocab_size, const SamplingParams& params, uint8_t* scratch) {
  uint32_t* keys = reinterpret_cast<uint32_t*>(scratch);
  uint32_t* spare = keys + sampling_capacity(vocab_size);
  float* maxima = reinterpret_cast<float*>(spare + sampling_capacity(vocab_size));
  if (!block_maxima<Isa>(logits, vocab_size, maxima)) return -1;
  const int32_t best_id = best_token(logits, vocab_size, maxima);
  if (params.temperature < kGreedyTemperature) return best_id;

  const float best = logits[best_id];
  const float divisor = params.temperature < static_cast<double>(FLT_MAX) ? static_cast<float>(params.temperature) : FLT_MAX;
  const int64_t limit = params.top_k == 0 || params.top_k > vocab_size ? vocab_size : params.top_k;
  const int64_t count = select_keys(logits, vocab_size, maxima, candidate_floor(best, divisor), limit, keys, spare);

  // Once the keys are sorted, the other array is free.
  float* sums = reinterpret_cast<float*>(spare);
  const WeighedCandidates weighed = weigh_candidates<Isa>(keys, count, best, divisor, params.min_p, sums);
  const float wanted = params.top_p * sums[weighed.count - 1];
  int64_t last = 0;
  while (last + 1 < weighed.count && sums[last] < wanted) ++last;
  if (last >= weighed.num_above_min_p) last = weighed.num_above_min_p - 1;

  // u is at most 1 - 2^-24, so the product stays below the total: a sum exceeds it.
  const float drawn = uniform_draw(params.seed, params.choice_index, params.num_completion_tokens) * sums[last];
  int64_t chosen = 0;
  while (chosen < last && !(sums[chosen] > drawn)) ++chosen;
  return token_at(logits, maxima, keys, chosen);
}

}  // namespace hearth
