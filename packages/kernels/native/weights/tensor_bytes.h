#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "files/mapped_file.h"
#include "runtime/aligned_buffer.h"
#include "runtime/thread_pool.h"

namespace hearth {

/// The packed bytes of a tensor, on a cache line (64 bytes): memory of its own, or a range of a packed file.
///
/// A range of a mapped file is used where it lies, and shared with every process that maps it; the file stays open as long
/// as the bytes are used. Of a file that is not mapped, memory takes a copy.
class TensorBytes {
 public:
  /// Zeros, to be filled.
  explicit TensorBytes(AlignedBuffer memory) : memory_(std::move(memory)), data_(memory_.data()), size_(memory_.size()) {}
  /// Bytes of a packed file, to be used after load(). Throws Failure(kInvalidModel) when the range is not within the file, or
  /// does not start on a cache line.
  TensorBytes(std::shared_ptr<const MappedFile> file, int64_t offset, int64_t size);

  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  /// Memory of its own; null for bytes of a mapped file, which nobody may change.
  uint8_t* writable() const { return memory_.data(); }

  /// Whether load() has something to do: bytes that were read need their file no more.
  bool is_of_file() const { return file_ != nullptr; }
  /// Brings the bytes of a file into memory, on all threads of the pool. Throws Failure(kInvalidModel) when they cannot be read.
  void load(ThreadPool& pool);

 private:
  AlignedBuffer memory_;
  std::shared_ptr<const MappedFile> file_;
  int64_t offset_ = 0;
  const uint8_t* data_;
  int64_t size_;
};

}  // namespace hearth
