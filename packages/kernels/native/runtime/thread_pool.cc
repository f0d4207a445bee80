#include "runtime/thread_pool.h"

#include <chrono>

#include "runtime/float_environment.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

// Measured on two cores: spinning 20 µs, then yielding costs 1-2 µs per op and falls to the speed of one thread when another
// process holds a core; spinning 50 µs and then sleeping is 3.4 times slower on short ops.
constexpr std::chrono::microseconds kSpin{20};
// About the time between two decode steps, in which the caller samples a token.
constexpr std::chrono::microseconds kYield{300};
/// Pauses between two looks at the clock.
constexpr int kPausesPerCheck = 32;

void cpu_pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

constexpr uint64_t kNextMask = 0xffffffffu;

}  // namespace

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads < 1 ? 1 : num_threads) {
  workers_.reserve(static_cast<std::size_t>(num_threads_ - 1));
  try {
    for (int thread = 1; thread < num_threads_; ++thread) workers_.emplace_back([this, thread] { worker(thread); });
  } catch (...) {
    // The system refused a thread: work with those there are.
    num_threads_ = static_cast<int>(workers_.size()) + 1;
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_.store(true);
  }
  work_arrived_.notify_all();
  for (std::thread& thread : workers_) thread.join();
}

bool ThreadPool::has_work() const {
  const uint64_t ticket = ticket_.load();
  return (ticket & kNextMask) < ticket >> 32;
}

bool ThreadPool::run_one_chunk(int thread) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if ((ticket & kNextMask) >= ticket >> 32) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  // The claimed chunk keeps the phase unfinished, so these still are what its ticket was published with.
  const Invoke invoke = invoke_.load(std::memory_order_relaxed);
  invoke(body_.load(std::memory_order_relaxed), static_cast<int64_t>(ticket & kNextMask), thread);
  num_done_.fetch_add(1, std::memory_order_release);
  return true;
}

void ThreadPool::run(int64_t num_chunks, Invoke invoke, void* body) {
  if (num_threads_ == 1 || num_chunks <= 1) {
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) invoke(body, chunk, 0);
    return;
  }
  invoke_.store(invoke, std::memory_order_relaxed);
  body_.store(body, std::memory_order_relaxed);
  num_done_.store(0, std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(num_chunks) << 32);  // sequentially consistent, as the load of num_sleeping_: see sleep_until_work
  if (num_sleeping_.load() > 0) wake();

  while (run_one_chunk(0)) {
  }
  // Others hold the last chunks. One of them may have lost its core, so yield when it takes long.
  const auto deadline = Clock::now() + kSpin;
  while (num_done_.load(std::memory_order_acquire) < num_chunks) {
    if (Clock::now() < deadline) {
      for (int i = 0; i < kPausesPerCheck / 4; ++i) cpu_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::wake() {
  if (num_sleeping_.load() == 0) return;
  // Taking the lock orders this after a worker that has seen no work but does not wait yet.
  { const std::lock_guard<std::mutex> lock(mutex_); }
  work_arrived_.notify_all();
}

void ThreadPool::sleep_until_work() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Either this thread sees the ticket that a caller has stored, or the caller sees this thread asleep and wakes it: all
  // four accesses are sequentially consistent.
  num_sleeping_.fetch_add(1);
  if (!has_work() && !stopping_.load()) work_arrived_.wait(lock);
  num_sleeping_.fetch_sub(1);
}

void ThreadPool::worker(int thread) {
  set_float_environment();
  auto idle_since = Clock::now();
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (run_one_chunk(thread)) {
      while (run_one_chunk(thread)) {
      }
      idle_since = Clock::now();
    }
    const auto idle = Clock::now() - idle_since;
    if (idle < kSpin) {
      for (int i = 0; i < kPausesPerCheck && !has_work(); ++i) cpu_pause();
    } else if (idle < kSpin + kYield) {
      std::this_thread::yield();
    } else {
      sleep_until_work();
      idle_since = Clock::now();
    }
  }
}

}  // namespace hearth
