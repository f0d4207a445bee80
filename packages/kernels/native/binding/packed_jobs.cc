#include "binding/packed_jobs.h"

#include <utility>

#include "runtime/thread_priority.h"
#include "weights/packed_file.h"

namespace hearth {

LoadPackedJob::LoadPackedJob(std::shared_ptr<Weights> weights, std::shared_ptr<int> num_packing)
    : weights_(std::move(weights)), num_packing_(std::move(num_packing)) {}

void LoadPackedJob::settled() {
  --*num_packing_;
  delete this;
}

WritePackedJob::WritePackedJob(std::shared_ptr<const Weights> weights, std::shared_ptr<WritingState> state, std::string path,
                               std::vector<int64_t> offsets, int64_t file_bytes)
    : weights_(std::move(weights)), state_(std::move(state)), path_(std::move(path)), offsets_(std::move(offsets)), file_bytes_(file_bytes) {}

void WritePackedJob::run(ThreadPool&) {
  lower_thread_priority();
  write_packed_file(path_, *weights_, offsets_, file_bytes_, state_->is_cancelled);
}

void WritePackedJob::settled() {
  state_->is_over = true;
  delete this;
}

}  // namespace hearth
