#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "binding/step_thread.h"
#include "weights/weights.h"

namespace hearth {

/// Brings matrices of a packed file into memory. Counts as packing while it is under way.
class LoadPackedJob : public Job {
 public:
  LoadPackedJob(std::shared_ptr<Weights> weights, std::shared_ptr<int> num_packing);

  int32_t first = 0;
  int32_t count = 0;

  void begin() { ++*num_packing_; }
  void run(ThreadPool& pool) override { weights_->load_packed(first, count, pool); }
  void settled() override;

 private:
  std::shared_ptr<Weights> weights_;
  std::shared_ptr<int> num_packing_;
};

/// What a writing job and the object of its weights share.
struct WritingState {
  std::atomic<bool> is_cancelled{false};
  /// JavaScript thread only.
  bool is_over = false;
};

/// Writes weights to a packed file, on a thread that does nothing else, below the priority of those that compute.
class WritePackedJob : public Job {
 public:
  /// The layout was checked (check_packed_layout).
  WritePackedJob(std::shared_ptr<const Weights> weights, std::shared_ptr<WritingState> state, std::string path,
                 std::vector<int64_t> offsets, int64_t file_bytes);
  void run(ThreadPool& pool) override;
  void cancel() override { state_->is_cancelled = true; }
  void settled() override;

 private:
  std::shared_ptr<const Weights> weights_;
  std::shared_ptr<WritingState> state_;
  std::string path_;
  std::vector<int64_t> offsets_;
  int64_t file_bytes_;
};

}  // namespace hearth
