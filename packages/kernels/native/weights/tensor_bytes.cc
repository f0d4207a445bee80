#include "weights/tensor_bytes.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/failure.h"

namespace hearth {
namespace {

constexpr int64_t kCacheLine = 64;

/// Bytes that one thread brings in at a time: two huge pages.
constexpr int64_t kChunkBytes = int64_t{4} << 20;

}  // namespace

TensorBytes::TensorBytes(std::shared_ptr<const MappedFile> file, int64_t offset, int64_t size)
    : file_(std::move(file)), offset_(offset), data_(nullptr), size_(size) {
  file_->check_range(offset, size);
  if (offset % kCacheLine != 0) fail(kInvalidModel, "A tensor of ", file_->path(), " starts at ", offset, ", which is no multiple of 64.");
  if (file_->is_mapped()) {
    data_ = file_->at(offset);
  } else {
    memory_ = AlignedBuffer(size, "weights", HugePages::yes);
    data_ = memory_.data();
  }
}

void TensorBytes::load(ThreadPool& pool) {
  std::mutex mutex;
  std::exception_ptr first_error;
  pool.parallel_for((size_ + kChunkBytes - 1) / kChunkBytes, [&](int64_t chunk, int) {
    const int64_t begin = chunk * kChunkBytes;
    const int64_t length = std::min(kChunkBytes, size_ - begin);
    try {
      if (file_->is_mapped()) {
        file_->populate(offset_ + begin, length);
      } else {
        file_->read(offset_ + begin, length, memory_.data() + begin);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (first_error == nullptr) first_error = std::current_exception();
    }
  });
  if (first_error != nullptr) std::rethrow_exception(first_error);
  if (!file_->is_mapped()) file_.reset();
}

}  // namespace hearth
