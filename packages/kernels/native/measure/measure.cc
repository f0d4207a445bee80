#include "measure/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/failure.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kThreadBytes = (kPeakInputBytes + kPeakResultBytes + 127) / 128 * 128;
constexpr int64_t kMostBytes = int64_t{1} << 32;
constexpr int32_t kMostRuns = 1000;

/// A chunk of a phase takes about this long: long against handing it out (1-2 µs), short against a run.
constexpr double kChunkSeconds = 250e-6;
/// A run of a loop that could go on for ever.
constexpr double kRunSeconds = 10e-3;
/// Of the buffer that threads share. A multiple of what reads want, and of a page.
constexpr int64_t kSharedChunk = int64_t{1} << 20;
constexpr int64_t kReadStep = 512;

double seconds_of(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One chunk of work; gives how much was done.
template <class Chunk>
double run_chunks(ThreadPool& pool, bool all_threads, int64_t num_chunks, Chunk&& chunk) {
  const auto start = Clock::now();
  if (all_threads) {
    pool.parallel_for(num_chunks, chunk);
  } else {
    for (int64_t i = 0; i < num_chunks; ++i) chunk(i, 0);
  }
  return seconds_of(start);
}

/// Codes below 64, or floats between 1/2 and 1 of which no product is short: rounding them is the work that it always is.
void fill_inputs(Quantity quantity, const MeasureMemory& memory, int num_threads) {
  for (int thread = 0; thread < num_threads; ++thread) {
    uint8_t* bytes = memory.of_thread(thread);
    uint32_t random = 1;
    for (int64_t i = 0; i < kPeakInputBytes; i += 4) {
      random = random * 1664525u + 1013904223u;
      const float x = 0.5f + static_cast<float>(random >> 8) * 0x1p-25f;
      const uint32_t codes = random & 0x3f3f3f3fu;
      if (quantity == Quantity::fma_peak) std::memcpy(bytes + i, &x, sizeof x);
      else std::memcpy(bytes + i, &codes, sizeof codes);
    }
  }
}

}  // namespace

MeasureMemory::MeasureMemory(int num_threads) : per_thread_(num_threads * kThreadBytes, "measurements") {}

uint8_t* MeasureMemory::of_thread(int thread) const { return per_thread_.data() + thread * kThreadBytes; }

const uint8_t* MeasureMemory::data(int64_t bytes, ThreadPool& pool) {
  if (buffer_.size() < bytes) {
    buffer_ = AlignedBuffer();
    buffer_ = AlignedBuffer(bytes, "measurements", HugePages::yes);
    pool.parallel_for((bytes + kSharedChunk - 1) / kSharedChunk, [&](int64_t chunk, int) {
      const int64_t start = chunk * kSharedChunk;
      std::memset(buffer_.data() + start, 1, static_cast<std::size_t>(std::min(kSharedChunk, bytes - start)));
    });
  }
  return buffer_.data();
}

std::vector<double> measure(const KernelTable& kernels, ThreadPool& pool, MeasureMemory& memory, const MeasureRequest& request,
                            const std::atomic<bool>& abort) {
  const Quantity quantity = request.quantity;
  const int num_threads = request.all_threads ? pool.num_threads() : 1;
  require(request.num_runs >= 1 && request.num_runs <= kMostRuns, "A measurement takes 1 to ", kMostRuns, " runs, got ", request.num_runs, ".");
  const bool is_peak = quantity == Quantity::integer_peak || quantity == Quantity::fma_peak;
  const int64_t step = quantity == Quantity::shared_read ? kSharedChunk : kReadStep;
  require(is_peak || (request.bytes >= step && request.bytes <= kMostBytes / num_threads && request.bytes % step == 0),
          "A measurement reads a multiple of ", step, " bytes, at most ", kMostBytes, " over all threads, got ", request.bytes, ".");
  fill_inputs(quantity, memory, num_threads);

  // Rounds of a chunk's loop: doubled until they take long enough for the clock.
  int64_t rounds = 1;
  const uint8_t* data = nullptr;
  if (!is_peak) data = memory.data(quantity == Quantity::own_read ? request.bytes * num_threads : request.bytes, pool);
  std::vector<double> amounts(static_cast<std::size_t>(num_threads));
  auto chunk = [&](int64_t index, int thread) {
    double& amount = amounts[static_cast<std::size_t>(thread)];
    uint8_t* own = memory.of_thread(thread);
    switch (quantity) {
      case Quantity::integer_peak: amount += kernels.integer_peak(rounds, own); break;
      case Quantity::fma_peak: amount += kernels.fma_peak(rounds, own); break;
      case Quantity::shared_read:
        kernels.read_four_streams(data + index * kSharedChunk, kSharedChunk, own);
        amount += static_cast<double>(kSharedChunk);
        break;
      case Quantity::own_read:
        for (int64_t i = 0; i < rounds; ++i) kernels.read_stream(data + thread * request.bytes, request.bytes, own);
        amount += static_cast<double>(rounds * request.bytes);
        break;
    }
  };
  int64_t num_chunks = request.bytes / kSharedChunk;
  if (quantity != Quantity::shared_read) {
    while (run_chunks(pool, false, 1, chunk) < kChunkSeconds) rounds *= 2;
    num_chunks = num_threads * static_cast<int64_t>(kRunSeconds / kChunkSeconds);
  }

  std::vector<double> rates;
  // Run -1 wakes the threads and warms caches and clocks.
  for (int32_t run = -1; run < request.num_runs; ++run) {
    if (abort.load(std::memory_order_relaxed)) fail(kAborted, "The operation was aborted.");
    std::fill(amounts.begin(), amounts.end(), 0.0);
    const double seconds = run_chunks(pool, request.all_threads, num_chunks, chunk);
    double amount = 0.0;
    for (const double part : amounts) amount += part;
    if (run >= 0) rates.push_back(amount / seconds);
  }
  return rates;
}

}  // namespace hearth
