#pragma once

#include <cstdint>

#include "kernels/sampling_params.h"
#include "runtime/aligned_buffer.h"

namespace hearth {

struct StepContext;

/// What sampling inside a step needs, made before the first one. Pages of scratch that no row needs are never touched.
struct SamplingMemory {
  SamplingMemory(int64_t max_output_rows, int64_t vocab_size, int num_threads);

  /// By output row: the checked parameters of the step at hand, and the ids that it gave.
  AlignedArray<SamplingParams> params;
  AlignedArray<int32_t> token_ids;
  /// By thread.
  AlignedArray<uint8_t> scratch;
};

/// Turns the logits of all output rows into tokens, rows side by side.
void run_sampling(StepContext& step);

}  // namespace hearth
