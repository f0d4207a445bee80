#include "step/run_sampling.h"

#include "step/step_context.h"

namespace hearth {

SamplingMemory::SamplingMemory(int64_t max_output_rows, int64_t vocab_size, int num_threads)
    : params(max_output_rows, "sampling"),
      token_ids(max_output_rows, "sampling"),
      scratch(checked_byte_size(num_threads, sampling_scratch_bytes(vocab_size), "sampling"), "sampling") {}

void run_sampling(StepContext& step) {
  const Executable& x = step.executable;
  const int64_t vocab_size = x.program.vocab_size;
  step.pool.parallel_for(step.num_rows(RowKind::outputs), [&](int64_t row, int thread) {
    uint8_t* scratch = x.sampling.scratch.data() + thread * sampling_scratch_bytes(vocab_size);
    const int32_t id = x.kernels.sample(x.row(x.program.logits, row), vocab_size, x.sampling.params[row], scratch);
    if (id < 0) step.mark_not_finite();
    x.sampling.token_ids[row] = id;
  });
}

}  // namespace hearth
