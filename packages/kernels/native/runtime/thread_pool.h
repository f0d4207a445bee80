#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace hearth {

/// Runs the phases of a step on several threads. One thread, the caller, publishes a phase of independent chunks; it and the
/// workers claim chunks from one atomic counter, and the phase is over when all chunks are counted as done. A worker
/// that comes late joins or is missed: nobody waits for a thread that holds no chunk, so a core lost to another process
/// slows a step in proportion.
///
/// Workers without work spin for some 20 µs (the gap between two ops), then yield (the gap between two steps), then
/// sleep. Nothing is allocated after the constructor.
class ThreadPool {
 public:
  /// `num_threads` counts the caller; at least 1.
  explicit ThreadPool(int num_threads);
  /// Ends the workers. No phase may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  /// Calls body(chunk, thread) for each chunk 0 .. num_chunks - 1, in any order and on any thread, 0 <= thread <
  /// num_threads(); thread 0 is the caller. Returns when all are done. `body` must not throw. One caller at a time.
  template <class Body>
  void parallel_for(int64_t num_chunks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(num_chunks, [](void* b, int64_t chunk, int thread) { (*static_cast<Plain*>(b))(chunk, thread); }, &body);
  }

  /// The chunk that a thread probably claims when it is done with this one, if there are so many: threads whose chunks take
  /// equally long claim in turn.
  int64_t likely_next_chunk(int64_t chunk) const { return chunk + num_threads_; }

  /// Wakes sleeping workers ahead of a phase.
  void wake();

 private:
  using Invoke = void (*)(void* body, int64_t chunk, int thread);

  void run(int64_t num_chunks, Invoke invoke, void* body);
  bool run_one_chunk(int thread);
  bool has_work() const;
  void worker(int thread);
  void sleep_until_work();

  // (number of chunks) << 32 | next chunk. Both in one word, so that a claim by compare-and-swap can only succeed while
  // its phase is unfinished, and then invoke_ and body_ belong to it.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int64_t> num_done_{0};
  std::atomic<Invoke> invoke_{nullptr};
  std::atomic<void*> body_{nullptr};

  alignas(64) std::atomic<int> num_sleeping_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable work_arrived_;

  int num_threads_;
  std::vector<std::thread> workers_;
};

}  // namespace hearth
