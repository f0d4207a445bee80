#pragma once

// Locally typical sampling: the twin of packages/sampler/src/processors/typical-p.ts, without its sort.
//
// The information content -log p of the candidates never falls in their order, so its distance from the entropy falls as
// far as the entropy and rises from there: candidates by ascending distance are a merge of these two parts.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/generic/math.h"

namespace hearth {

/// Replaces scaled logits by distances: (-log p) - entropy, negative before the entropy and rising.
template <class Isa>
void distances_from_entropy(float* scaled, const float* weights, int64_t count, float total) {
  const float log_total = log1<Isa>(total);
  float entropy = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    scaled[i] -= log_total;
    entropy -= weights[i] / total * scaled[i];
  }
  for (int64_t i = 0; i < count; ++i) scaled[i] = -scaled[i] - entropy;
}

/// Candidates that were kept, by their places before: those of [early, early_end), then those of [late, late_end).
struct TypicalCandidates {
  int64_t early, early_end;
  int64_t late, late_end;
};

static inline int64_t place_before(const TypicalCandidates& kept, int64_t place) {
  const int64_t num_early = kept.early_end - kept.early;
  return place < num_early ? kept.early + place : kept.late + place - num_early;
}

/// The fewest candidates of least |distance|, equal ones in candidate order, whose running weight reaches `wanted`.
static inline TypicalCandidates most_typical(const float* distances, const float* weights, int64_t count, float wanted) {
  int64_t middle = 0;
  while (middle < count && distances[middle] < 0.0f) ++middle;
  TypicalCandidates kept = {middle, middle, middle, middle};
  float sum = 0.0f;
  while (kept.late > 0 || kept.late_end < count) {
    if (kept.late == 0 || (kept.late_end < count && distances[kept.late_end] < -distances[kept.late - 1])) {
      sum += weights[kept.late_end++];
      if (sum >= wanted) break;
      continue;
    }
    // Of equal distances before the middle, the first comes first: the last ones of them may be left out.
    int64_t first = kept.late - 1;
    while (first > 0 && distances[first - 1] == distances[first]) --first;
    int64_t next = first;
    do {
      sum += weights[next++];
    } while (next < kept.late && !(sum >= wanted));
    if (sum >= wanted) {
      kept.early = first;
      kept.early_end = next;
      break;
    }
    kept.late = first;
  }
  return kept;
}

/// Keeps the weights of the most typical candidates, in candidate order, and returns how many they are.
template <class Isa>
int64_t keep_typical(float typical_p, float* scaled, float* weights, int64_t count, float total, TypicalCandidates* kept) {
  distances_from_entropy<Isa>(scaled, weights, count, total);
  *kept = most_typical(scaled, weights, count, typical_p * total);
  const int64_t num_early = kept->early_end - kept->early;
  const int64_t num_late = kept->late_end - kept->late;
  std::memmove(weights, weights + kept->early, static_cast<std::size_t>(num_early) * sizeof(float));
  std::memmove(weights + num_early, weights + kept->late, static_cast<std::size_t>(num_late) * sizeof(float));
  return num_early + num_late;
}

}  // namespace hearth
