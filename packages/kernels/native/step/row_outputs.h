#pragma once

#include <cstdint>

#include "kernels/sampling_params.h"
#include "runtime/aligned_buffer.h"

namespace hearth {

struct StepContext;

/// What an output row is reduced to. Numbers as in src/encode-row-outputs.ts.
enum class RowOutputKind : int32_t { logits = 0, logprob = 1, sample = 2 };

struct RowOutput {
  RowOutputKind kind;
  /// Of `logprob`.
  int32_t token_id;
  /// Of `sample`.
  SamplingParams sampling;
};

/// What comes of an output row: NaN and -1 where that was not asked for.
struct RowResult {
  float logprob;
  int32_t argmax;
  int32_t sampled;
};

/// What the reduction of output rows needs, made before the first step. Pages of scratch that no row needs are never touched.
struct RowOutputMemory {
  RowOutputMemory(int64_t max_output_rows, int64_t vocab_size, int num_threads);

  /// By output row: what the step at hand wants, checked, and what it gave.
  AlignedArray<RowOutput> wanted;
  AlignedArray<RowResult> results;
  /// By thread.
  AlignedArray<uint8_t> scratch;
};

/// Reduces the logits of all output rows to what is wanted of each, rows side by side.
void reduce_output_rows(StepContext& step);

}  // namespace hearth
