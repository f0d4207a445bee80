#pragma once

// What this machine can do at most: the ceilings that kernels are judged by (docs/roofline.md).

#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/kernel_table.h"
#include "runtime/aligned_buffer.h"
#include "runtime/thread_pool.h"

namespace hearth {

enum class Quantity : int32_t {
  /// Operations per second of the variant's integer dot products.
  integer_peak = 0,
  /// Operations per second of f32 multiply-adds.
  fma_peak = 1,
  /// Bytes per second that the threads read from one buffer together, each chunk once: of main memory, when the buffer is
  /// far larger than the caches.
  shared_read = 2,
  /// Bytes per second that each thread reads from a buffer of its own, again and again: of a cache, when it fits there.
  own_read = 3,
};
constexpr int32_t kNumQuantities = 4;

struct MeasureRequest {
  Quantity quantity;
  /// All threads of the pool, or the caller alone.
  bool all_threads;
  /// Of the buffer, or of each thread's; nothing for peaks.
  int64_t bytes;
  /// Short runs that each give a rate.
  int32_t num_runs;
};

/// Memory that measurements read, kept between them.
class MeasureMemory {
 public:
  explicit MeasureMemory(int num_threads);
  /// At least `bytes`, all of it written to: pages that never were are one page of zeros, which every cache holds.
  const uint8_t* data(int64_t bytes, ThreadPool& pool);
  /// Inputs and results of one thread's peak loop.
  uint8_t* of_thread(int thread) const;

 private:
  AlignedBuffer buffer_;
  AlignedBuffer per_thread_;
};

/// Rates of the runs, in order. Throws Failure(kAborted) when `abort` becomes true.
std::vector<double> measure(const KernelTable& kernels, ThreadPool& pool, MeasureMemory& memory, const MeasureRequest& request,
                            const std::atomic<bool>& abort);

}  // namespace hearth
