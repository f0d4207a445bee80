#include "step/row_outputs.h"

#include <cmath>

#include "step/step_context.h"

namespace hearth {

RowOutputMemory::RowOutputMemory(int64_t max_output_rows, int64_t vocabulary, int64_t context, int num_threads)
    : vocab_size(vocabulary),
      context_length(context),
      wanted(max_output_rows, "output rows"),
      results(max_output_rows, "output rows"),
      token_ids(checked_byte_size(max_output_rows, context + vocabulary, "sampling"), "sampling"),
      biases(checked_byte_size(max_output_rows, vocabulary, "sampling"), "sampling"),
      masks(checked_byte_size(max_output_rows, num_mask_words(vocabulary), "sampling"), "sampling"),
      scratch(checked_byte_size(num_threads, sampling_scratch_bytes(vocabulary), "sampling"), "sampling") {}

int64_t count_head_rows(const RowOutputMemory& memory, int64_t num_output_rows) {
  int64_t count = num_output_rows;
  while (count > 0 && memory.wanted[count - 1].kind == RowOutputKind::hidden) --count;
  return count;
}

void reduce_output_rows(StepContext& step) {
  const Executable& x = step.executable;
  const int64_t vocab_size = x.program.vocab_size;
  const RowResult nothing = {NAN, -1, -1};
  for (int64_t row = step.num_rows(RowKind::outputs); row < x.batch.num_output_rows(); ++row) x.row_outputs.results[row] = nothing;
  step.pool.parallel_for(step.num_rows(RowKind::outputs), [&](int64_t row, int thread) {
    const float* logits = x.row(x.program.logits, row);
    const RowOutput& wanted = x.row_outputs.wanted[row];
    RowResult result = nothing;
    if (wanted.kind == RowOutputKind::logprob) {
      const RowLogprob score = x.kernels.row_logprob(logits, vocab_size, wanted.token_id);
      result.logprob = score.logprob;
      result.argmax = score.argmax;
    } else if (wanted.kind == RowOutputKind::sample) {
      uint8_t* memory = x.row_outputs.scratch.data() + thread * sampling_scratch_bytes(vocab_size);
      result.sampled = x.kernels.sample(logits, vocab_size, wanted.sampling, memory);
      if (result.sampled == kLogitNotFinite) step.mark_not_finite();
    }
    x.row_outputs.results[row] = result;
  });
}

}  // namespace hearth
