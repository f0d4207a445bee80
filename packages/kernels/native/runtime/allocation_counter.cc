#include "runtime/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace hearth {
namespace {
std::atomic<uint64_t> count{0};
}

uint64_t allocation_count() { return count.load(std::memory_order_relaxed); }
void count_allocation() { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace hearth

// The version script (exports.map) hides these operators, so that they serve this addon and not the process. Both
// sides of a mixed pair (memory made in libstdc++, freed here) are malloc and free, as in libstdc++ itself. Left out under
// the sanitizers, which bring their own.
#if defined(HEARTH_COUNT_OPERATOR_NEW)

namespace {

void* counted_allocate(std::size_t size) noexcept {
  hearth::count_allocation();
  return std::malloc(size == 0 ? 1 : size);
}

void* counted_allocate(std::size_t size, std::align_val_t alignment) noexcept {
  hearth::count_allocation();
  const std::size_t a = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(a, (size + a - 1) / a * a);
}

template <class... Arguments>
void* or_throw(Arguments... arguments) {
  void* memory = counted_allocate(arguments...);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t n) { return or_throw(n); }
void* operator new[](std::size_t n) { return or_throw(n); }
void* operator new(std::size_t n, std::align_val_t a) { return or_throw(n, a); }
void* operator new[](std::size_t n, std::align_val_t a) { return or_throw(n, a); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return counted_allocate(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return counted_allocate(n); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return counted_allocate(n, a); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return counted_allocate(n, a); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }

#endif
