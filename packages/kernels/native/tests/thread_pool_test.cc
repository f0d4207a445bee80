// Hammers the thread pool with short phases, under the thread sanitizer (scripts/test-sanitize.mjs). Exits with 1 and a
// message when a chunk is lost, run twice, or run after its phase has ended.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/thread_pool.h"

namespace {

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "thread_pool_test: %s\n", what);
  std::exit(1);
}

/// Phases of 1 to 17 chunks that read what the phase before has written, as ops do.
void run_phases(int num_threads, int num_phases) {
  hearth::ThreadPool pool(num_threads);
  check(pool.num_threads() == num_threads, "wrong number of threads");
  std::vector<int> counts(17, 0);
  std::vector<int> totals(17, 0);
  int expected_total = 0;
  for (int phase = 0; phase < num_phases; ++phase) {
    const int num_chunks = 1 + phase % 17;
    std::atomic<bool> ended{false};
    pool.parallel_for(num_chunks, [&](int64_t chunk, int thread) {
      check(!ended.load(), "a chunk ran after its phase");
      check(thread >= 0 && thread < num_threads, "a thread number is out of range");
      ++counts[static_cast<std::size_t>(chunk)];  // a data race if a chunk ran twice at once
    });
    ended.store(true);
    expected_total += num_chunks;
    // Plain reads of what other threads wrote: the end of a phase orders them.
    int total = 0;
    for (const int count : counts) total += count;
    check(total == expected_total, "a chunk was lost or ran twice");
    pool.parallel_for(17, [&](int64_t chunk, int) { totals[static_cast<std::size_t>(chunk)] = counts[static_cast<std::size_t>(chunk)]; });
    check(totals == counts, "a phase did not see the one before");
    // Now and then long enough for workers to yield, and to sleep.
    if (phase % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(phase % 1000 == 0 ? 1 : 0));
    if (phase % 700 == 0) pool.wake();
  }
}

}  // namespace

int main() {
  for (const int num_threads : {1, 2, 3, 8}) run_phases(num_threads, 4000);
  // Pools that end before, and right after, they have worked.
  for (int i = 0; i < 100; ++i) {
    hearth::ThreadPool pool(4);
    if (i % 2 == 0) pool.parallel_for(3, [](int64_t, int) {});
  }
  std::puts("thread_pool_test: ok");
  return 0;
}
