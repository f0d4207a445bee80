#pragma once

#include <cstdint>

#include "kernels/sampling_params.h"
#include "runtime/aligned_buffer.h"

namespace hearth {

struct StepContext;

/// What an output row is reduced to. Numbers as in src/encode-row-outputs.ts.
enum class RowOutputKind : int32_t { logits = 0, logprob = 1, sample = 2, hidden = 3 };

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

/// What the reduction of output rows needs, made before the first step: room for as much as any step may ask for. Pages that
/// no row needs are never touched.
struct RowOutputMemory {
  RowOutputMemory(int64_t max_output_rows, int64_t vocab_size, int64_t context_length, int num_threads);

  int64_t vocab_size;
  /// Most tokens of a row that penalties look at.
  int64_t context_length;

  /// By output row: what the step at hand wants, checked, and what it gave.
  AlignedArray<RowOutput> wanted;
  AlignedArray<RowResult> results;

  // What SamplingParams of `wanted` point into, row after row.

  /// At most context_length tokens that penalties look at and vocab_size with a bias, for each row.
  AlignedArray<int32_t> token_ids;
  AlignedArray<float> biases;
  AlignedArray<uint32_t> masks;

  /// By thread.
  AlignedArray<uint8_t> scratch;
};

/// How many of the step's output rows are not wanted as hidden rows, which come last.
int64_t count_head_rows(const RowOutputMemory& memory, int64_t num_output_rows);

/// Reduces the logits of the rows that the head has run on to what is wanted of each, rows side by side.
void reduce_output_rows(StepContext& step);

}  // namespace hearth
