#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/paged_cache.h"
#include "kernels/kernel_table.h"
#include "program/program.h"
#include "runtime/aligned_buffer.h"
#include "runtime/thread_pool.h"
#include "step/batch.h"
#include "step/moe_scratch.h"
#include "step/row_outputs.h"
#include "weights/weights.h"

namespace hearth {

/// What a step reduces the wanted rows to. Numbers as in src/addon-types.ts.
enum class OutputKind : int32_t { logits = 0, hidden = 1, rows = 2 };

enum class StepStatus { ok, aborted, not_finite };

struct StepOutcome {
  StepStatus status = StepStatus::ok;
  /// Of not_finite: the first op in program order that produced NaN or infinity (its sum, for an add-rms-norm).
  int64_t op = 0;
  bool in_sum = false;
};

/// Up to 32 consecutive tokens of one sequence: what one attention task takes.
struct QueryTile {
  int32_t sequence;
  int32_t first_token;
  int32_t num_tokens;
};

struct ExecutableOptions {
  int64_t max_tokens;
  int64_t max_output_rows;
  CacheOptions cache;
};

/// A checked program with all memory that its steps need: arenas, scratch, cache, batch, results. Steps allocate nothing.
/// One step at a time; the members are what run_step.cc works on.
struct Executable {
  /// Throws Failure when the program is invalid, an option is out of range or memory runs out.
  Executable(Program program, std::shared_ptr<const Weights> weights, const ExecutableOptions& options,
             const KernelTable& kernels, int num_threads);

  int64_t capacity(RowKind rows) const { return rows == RowKind::tokens ? options.max_tokens : options.max_output_rows; }
  const Buffer& buffer(const View& view) const { return program.buffers[static_cast<std::size_t>(view.buffer)]; }
  /// First element of row `row` of a view, and floats between its rows.
  float* row(const View& view, int64_t row) const {
    const Buffer& b = buffer(view);
    return arenas[static_cast<std::size_t>(b.rows)]->as<float>() + b.offset * capacity(b.rows) + row * b.width + view.column;
  }
  int64_t stride(const View& view) const { return buffer(view).width; }

  const Program program;
  const std::shared_ptr<const Weights> weights;
  const ExecutableOptions options;
  const KernelTable& kernels;
  PagedCache cache;
  Batch batch;

  /// The finished rows of a view of `outputs` rows, one after another: its place in the arena, or its copy.
  float* finished_rows(const View& view, const std::shared_ptr<AlignedBuffer>& copy) const {
    return copy == nullptr ? row(view, 0) : copy->as<float>();
  }

  /// By RowKind. That of the outputs is shared with JavaScript, which sees logits and hidden rows in place and may hold
  /// them longer than this lives.
  std::array<std::shared_ptr<AlignedBuffer>, kNumRowKinds> arenas;
  /// Where logits and hidden rows go when their views are not whole buffers of the arena; null otherwise.
  std::shared_ptr<AlignedBuffer> logits_copy;
  std::shared_ptr<AlignedBuffer> hidden_copy;
  /// By capture, [capacity, width].
  std::vector<AlignedArray<float>> captures;
  /// Nanoseconds by op, of a step that was asked for it.
  AlignedArray<double> op_nanoseconds;

  /// Quantized activations of the linear op at hand, [sets (run_linear.h), rows, columns / 32].
  AlignedArray<ActivationBlock> activations;
  /// By thread.
  AlignedArray<float> attention_scratch;
  int64_t attention_scratch_stride = 0;
  /// Partial attention states, when one row's groups are spread over threads.
  AlignedArray<float> attention_states;
  std::vector<QueryTile> query_tiles;
  MoeScratch moe;
  RowOutputMemory row_outputs;

  /// Ops that a step has to run when only hidden rows are wanted: those before the head, which runs on the other rows alone.
  int64_t num_ops_for_hidden = 0;
};

/// Runs the program over `executable.batch` on all threads of the pool, and reduces its rows to what `executable.row_outputs`
/// wants of them when the output kind is `rows`. `abort` is looked at between ops.
StepOutcome run_step(Executable& executable, ThreadPool& pool, OutputKind output, bool profile, const std::atomic<bool>& abort);

}  // namespace hearth
