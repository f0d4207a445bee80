// One step: all threads walk the op list together. Each op is one or two phases of independent chunks (rows, tiles of
// weights, heads); between phases everybody has finished. Which thread computes a chunk, and how large it is, changes no bit.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "step/executable.h"
#include "step/row_outputs.h"
#include "step/run_attention.h"
#include "step/run_linear.h"
#include "step/run_moe.h"
#include "step/step_context.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

/// Floats of elementwise work per chunk: some microseconds, against 1-2 µs to hand a phase out.
constexpr int64_t kChunkFloats = 8192;

/// Runs ops; `visit` it with one.
class OpRunner {
 public:
  explicit OpRunner(StepContext& step) : step_(step), x_(step.executable), kernels_(step.executable.kernels) {}

  void operator()(const EmbedOp& op) {
    const Tensor& table = x_.weights->at(op.weight);
    const int32_t* ids = op.ids == EmbedIds::tokens ? x_.batch.token_ids() : x_.batch.positions();
    for_each_row(op.out, [&](int64_t row) {
      float* out = x_.row(op.out, row);
      bool finite = kernels_.embed(table.dtype, table.data.data(), table.columns, ids[row], out);
      if (op.scale != 1.0f) finite &= kernels_.scale(out, op.scale, op.out.width);
      return finite;
    });
  }

  void operator()(const RopeTableOp& op) {
    const Rope& rope = x_.program.ropes[static_cast<std::size_t>(op.rope)];
    for_each_row(op.out, [&](int64_t row) {
      return kernels_.rope_table(rope.inv_freq.data(), rope.rotary_dim / 2, rope.attention_scaling, x_.batch.positions()[row],
                                 x_.row(op.out, row));
    });
  }

  void operator()(const RmsNormOp& op) {
    const Tensor& weight = x_.weights->at(op.weight);
    for_each_row(op.out, [&](int64_t row) {
      const float* x = x_.row(op.x, row);
      float* out = x_.row(op.out, row);
      bool finite = true;
      for (int64_t group = 0; group < op.x.width; group += weight.columns) {
        finite &= kernels_.rms_norm(x + group, weight.data.as<float>(), op.eps, weight.columns, out + group);
      }
      return finite;
    });
  }

  void operator()(const LayerNormOp& op) {
    const float* weight = x_.weights->at(op.weight).data.as<float>();
    const float* bias = x_.weights->at(op.bias).data.as<float>();
    for_each_row(op.out, [&](int64_t row) {
      return kernels_.layer_norm(x_.row(op.x, row), weight, bias, op.eps, op.x.width, x_.row(op.out, row));
    });
  }

  void operator()(const AddRmsNormOp& op) {
    const float* weight = x_.weights->at(op.weight).data.as<float>();
    for_each_row(op.out, [&](int64_t row) {
      float* residual = x_.row(op.residual, row);
      if (!kernels_.add(residual, x_.row(op.delta, row), op.residual.width)) step_.mark_sum_not_finite();
      return kernels_.rms_norm(residual, weight, op.eps, op.residual.width, x_.row(op.out, row));
    });
  }

  void operator()(const AddOp& op) {
    for_each_row(op.residual, [&](int64_t row) {
      return kernels_.add(x_.row(op.residual, row), x_.row(op.delta, row), op.residual.width);
    });
  }

  void operator()(const LinearOp& op) { run_linear(step_, op); }

  void operator()(const RopeOp& op) {
    for_each_row(op.x, [&](int64_t row) {
      return kernels_.rope(x_.row(op.x, row), x_.row(op.table, row), op.x.width / op.head_dim, op.head_dim, op.rotary_dim);
    });
  }

  void operator()(const WriteCacheOp& op) { run_write_cache(step_, op); }
  void operator()(const AttentionOp& op) { run_attention(step_, op); }

  void operator()(const ActivationOp& op) {
    const auto activation = kernels_.activation[static_cast<int>(op.function)];
    for_each_row(op.out, [&](int64_t row) { return activation(x_.row(op.x, row), op.x.width, x_.row(op.out, row)); });
  }

  void operator()(const GatedActivationOp& op) {
    const auto gated_activation = kernels_.gated_activation[static_cast<int>(op.function)];
    for_each_row(op.out, [&](int64_t row) {
      return gated_activation(x_.row(op.gate, row), x_.row(op.up, row), op.gate.width, x_.row(op.out, row));
    });
  }

  void operator()(const SoftcapOp& op) {
    for_each_row(op.x, [&](int64_t row) { return kernels_.softcap(x_.row(op.x, row), op.cap, op.x.width); });
  }

  void operator()(const MoeMlpOp& op) { run_moe(step_, op); }

  void operator()(const GatherRowsOp& op) {
    for (int64_t row = 0; row < x_.batch.num_output_rows(); ++row) {
      copy_row(x_.row(op.x, x_.batch.output_rows()[row]), op.x.width, x_.row(op.out, row));
    }
  }

  void operator()(const CaptureOp& op) {
    float* to = x_.captures[static_cast<std::size_t>(op.capture)].data();
    const int64_t num_rows = step_.num_rows(x_.buffer(op.x).rows);
    for (int64_t row = 0; row < num_rows; ++row) copy_row(x_.row(op.x, row), op.x.width, to + row * op.x.width);
  }

 private:
  static void copy_row(const float* from, int64_t width, float* to) {
    std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(float));
  }

  /// Calls body(row), which says whether what it wrote is finite, for every row of the step's kind of `view`.
  template <class Body>
  void for_each_row(const View& view, Body&& body) {
    const int64_t num_rows = step_.num_rows(x_.buffer(view).rows);
    const int64_t rows_per_chunk = std::max<int64_t>(1, kChunkFloats / view.width);
    const int64_t num_chunks = (num_rows + rows_per_chunk - 1) / rows_per_chunk;
    step_.pool.parallel_for(num_chunks, [&](int64_t chunk, int) {
      const int64_t end = std::min(num_rows, (chunk + 1) * rows_per_chunk);
      bool finite = true;
      for (int64_t row = chunk * rows_per_chunk; row < end; ++row) finite &= body(row);
      if (!finite) step_.mark_not_finite();
    });
  }

  StepContext& step_;
  Executable& x_;
  const KernelTable& kernels_;
};

void find_query_tiles(Executable& x) {
  x.query_tiles.clear();
  for (int64_t s = 0; s < x.batch.num_sequences(); ++s) {
    const int32_t end = x.batch.first_token(s + 1);
    for (int32_t token = x.batch.first_token(s); token < end; token += kQueryTileTokens) {
      x.query_tiles.push_back({static_cast<int32_t>(s), token, std::min(kQueryTileTokens, end - token)});
    }
  }
}

/// Copies the output rows of a view that is part of a wider buffer to where JavaScript sees them side by side.
void copy_rows(const Executable& x, const View& view, int64_t num_rows, const AlignedBuffer& to) {
  for (int64_t row = 0; row < num_rows; ++row) {
    std::memcpy(to.as<float>() + row * view.width, x.row(view, row), static_cast<std::size_t>(view.width) * sizeof(float));
  }
}

void finish_outputs(StepContext& step, OutputKind output) {
  Executable& x = step.executable;
  const int64_t num_rows = x.batch.num_output_rows();
  const int64_t num_head_rows = step.num_rows(RowKind::outputs);
  if (x.hidden_copy != nullptr && num_head_rows < num_rows) copy_rows(x, x.program.hidden, num_rows, *x.hidden_copy);
  if (x.logits_copy != nullptr) copy_rows(x, x.program.logits, num_head_rows, *x.logits_copy);
  if (output == OutputKind::rows) reduce_output_rows(step);
}

int64_t head_rows_of(const Executable& x, OutputKind output) {
  switch (output) {
    case OutputKind::hidden: return 0;
    case OutputKind::rows: return count_head_rows(x.row_outputs, x.batch.num_output_rows());
    case OutputKind::logits: break;
  }
  return x.batch.num_output_rows();
}

}  // namespace

StepOutcome run_step(Executable& x, ThreadPool& pool, OutputKind output, bool profile, const std::atomic<bool>& abort) {
  StepContext step(x, pool);
  OpRunner runner(step);
  pool.wake();
  find_query_tiles(x);
  const int64_t num_ops = static_cast<int64_t>(x.program.ops.size());
  const int64_t num_head_rows = head_rows_of(x, output);
  const int64_t num_ops_to_run = num_head_rows == 0 ? x.num_ops_for_hidden : num_ops;
  for (int64_t op = 0; op < num_ops_to_run; ++op) {
    if (op == x.num_ops_for_hidden) step.begin_head(num_head_rows);
    if (abort.load(std::memory_order_relaxed)) return {StepStatus::aborted, op, false};
    const Clock::time_point start = profile ? Clock::now() : Clock::time_point();
    std::visit(runner, x.program.ops[static_cast<std::size_t>(op)]);
    if (profile) x.op_nanoseconds[op] = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (!step.is_finite()) return {StepStatus::not_finite, op, step.is_sum_not_finite()};
  }
  if (profile) std::fill(x.op_nanoseconds.data() + num_ops_to_run, x.op_nanoseconds.data() + num_ops, 0.0);
  step.begin_head(num_head_rows);
  finish_outputs(step, output);
  // Sampling looks at every logit again, also at those that no op has written.
  if (!step.is_finite()) return {StepStatus::not_finite, num_ops - 1, false};
  return {};
}

}  // namespace hearth
