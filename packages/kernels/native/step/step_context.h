#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/thread_pool.h"
#include "step/executable.h"

namespace hearth {

/// What the ops of one running step share.
struct StepContext {
  StepContext(Executable& x, ThreadPool& p) : executable(x), pool(p), num_output_rows_(x.batch.num_output_rows()) {}

  int64_t num_rows(RowKind rows) const { return rows == RowKind::tokens ? executable.batch.num_tokens() : num_output_rows_; }

  /// The head begins: from here on output rows are the first `num_head_rows` of the batch.
  void begin_head(int64_t num_head_rows) { num_output_rows_ = num_head_rows; }

  /// Called by any thread that has written NaN, an infinity, or a value that its cache type cannot hold. As the step stops
  /// after the op, the first such op in program order is the one at hand.
  void mark_not_finite() { not_finite_.fetch_or(kOutput, std::memory_order_relaxed); }
  /// The same for the sum of an add-rms-norm, which comes before its norm.
  void mark_sum_not_finite() { not_finite_.fetch_or(kSum, std::memory_order_relaxed); }
  bool is_finite() const { return not_finite_.load(std::memory_order_relaxed) == 0; }
  bool is_sum_not_finite() const { return (not_finite_.load(std::memory_order_relaxed) & kSum) != 0; }

  Executable& executable;
  ThreadPool& pool;

 private:
  static constexpr int kOutput = 1;
  static constexpr int kSum = 2;
  std::atomic<int> not_finite_{0};
  int64_t num_output_rows_;
};

}  // namespace hearth
