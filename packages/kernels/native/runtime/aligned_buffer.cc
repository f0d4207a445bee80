#include "runtime/aligned_buffer.h"

#include <cstdlib>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "runtime/allocation_counter.h"
#include "runtime/failure.h"

namespace hearth {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kMostBytes = int64_t{1} << 46;
constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

int64_t checked_byte_size(int64_t count, int64_t element_bytes, const char* what) {
  if (count < 0 || count > kMostBytes / element_bytes) {
    fail(kLimitExceeded, "The ", what, " would take ", count, " x ", element_bytes, " bytes, which no machine has.");
  }
  return count * element_bytes;
}

AlignedBuffer::AlignedBuffer(int64_t bytes, const char* what, HugePages huge_pages)
    : size_(checked_byte_size(bytes, 1, what)) {
  count_allocation();
  // calloc takes large blocks fresh from the system, which zeroes their pages when they are first touched.
  const int64_t alignment = huge_pages == HugePages::yes && bytes >= kHugePage ? kHugePage : kCacheLine;
  allocation_ = std::calloc(static_cast<std::size_t>(bytes + alignment), 1);
  if (allocation_ == nullptr) {
    fail(kLimitExceeded, "There is no memory for the ", what, ", ", bytes / (1 << 20), " MiB. Choose smaller limits or a smaller model.");
  }
  const uintptr_t start = reinterpret_cast<uintptr_t>(allocation_);
  const uintptr_t mask = static_cast<uintptr_t>(alignment) - 1;
  data_ = reinterpret_cast<uint8_t*>((start + mask) & ~mask);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Fewer TLB misses when weights stream through. A refusal changes nothing.
  if (alignment == kHugePage) madvise(data_, static_cast<std::size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
}

AlignedBuffer::~AlignedBuffer() { std::free(allocation_); }

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : allocation_(std::exchange(other.allocation_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(allocation_, other.allocation_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace hearth
