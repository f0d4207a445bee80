#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

enum class HugePages { no, yes };

/// Zeroed memory that starts on a cache line (64 bytes). Pages of large buffers are not touched until they are used.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// Throws Failure(kLimitExceeded), naming `what`, when there is no such memory. `yes` asks the system for huge pages, where
  /// it can: for memory that will be used from end to end.
  AlignedBuffer(int64_t bytes, const char* what, HugePages huge_pages = HugePages::no);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  int64_t size() const { return size_; }
  uint8_t* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void* allocation_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
};

/// An array of `count` zeroed elements in an AlignedBuffer.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  AlignedArray(int64_t count, const char* what) : buffer_(checked_bytes(count, sizeof(T), what), what), count_(count) {}
  T* data() const { return buffer_.template as<T>(); }
  T& operator[](int64_t i) const { return data()[i]; }
  int64_t size() const { return count_; }

 private:
  static int64_t checked_bytes(int64_t count, std::size_t element_bytes, const char* what);
  AlignedBuffer buffer_;
  int64_t count_ = 0;
};

/// count · element_bytes. Throws Failure(kLimitExceeded) when that is negative or more than 2^46 bytes, which no machine has:
/// offsets within any buffer then fit int64 with room for sums and products by small factors.
int64_t checked_byte_size(int64_t count, int64_t element_bytes, const char* what);

template <class T>
int64_t AlignedArray<T>::checked_bytes(int64_t count, std::size_t element_bytes, const char* what) {
  return checked_byte_size(count, static_cast<int64_t>(element_bytes), what);
}

}  // namespace hearth
