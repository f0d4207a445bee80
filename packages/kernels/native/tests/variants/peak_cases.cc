// Measurements of the processor. What they compute has the width of the variant and means nothing, so all that is held to
// the portable variant is that they end, report work, and write within their memory.

#include <vector>

#include "variants/comparison.h"
#include "variants/inputs.h"

namespace hearth {
namespace {

constexpr int64_t kMemoryBytes = kPeakInputBytes + kPeakResultBytes;

/// The memory of a thread, 64-byte aligned, and as much after it, which must stay as it is.
class PeakMemory {
 public:
  PeakMemory() {
    uint8_t* memory = start();
    for (int64_t i = 0; i < kPeakInputBytes; i += 4) put_float(memory + i, 0.75f);
    for (int64_t i = kPeakInputBytes; i < 2 * kMemoryBytes; ++i) memory[i] = kUntouched;
  }

  uint8_t* start() { return reinterpret_cast<uint8_t*>((reinterpret_cast<std::uintptr_t>(storage_.data()) + 63) / 64 * 64); }
  bool was_written_past() {
    for (int64_t i = kMemoryBytes; i < 2 * kMemoryBytes; ++i) {
      if (start()[i] != kUntouched) return true;
    }
    return false;
  }

 private:
  static constexpr uint8_t kUntouched = 0xc4;

  static void put_float(uint8_t* to, float x) { std::memcpy(to, &x, sizeof x); }

  std::vector<uint8_t> storage_ = std::vector<uint8_t>(static_cast<std::size_t>(2 * kMemoryBytes + 64));
};

void compare_peak(Comparison& comparison, const char* name, double (*KernelTable::*entry)(int64_t, uint8_t*)) {
  comparison.start(name, entry);
  comparison.compare("3 rounds", [&](const KernelTable& k, Results& r) {
    PeakMemory memory;
    r.add_flag("did something", (k.*entry)(3, memory.start()) > 0.0);
    r.add_flag("was written past", memory.was_written_past());
  });
}

void compare_stream(Comparison& comparison, const char* name, void (*KernelTable::*entry)(const uint8_t*, int64_t, uint8_t*)) {
  comparison.start(name, entry);
  for (const int64_t bytes : {512, 8192}) {
    const std::vector<uint8_t> data(static_cast<std::size_t>(bytes), 0x5a);
    comparison.compare(text_of(bytes, " bytes"), [&](const KernelTable& k, Results& r) {
      PeakMemory memory;
      (k.*entry)(data.data(), bytes, memory.start());
      r.add_integer("first byte seen", memory.start()[kPeakInputBytes]);
      r.add_flag("was written past", memory.was_written_past());
    });
  }
}

}  // namespace

void compare_peaks(Comparison& comparison) {
  compare_peak(comparison, "integer_peak", &KernelTable::integer_peak);
  compare_peak(comparison, "fma_peak", &KernelTable::fma_peak);
  compare_stream(comparison, "read_stream", &KernelTable::read_stream);
  compare_stream(comparison, "read_four_streams", &KernelTable::read_four_streams);
}

}  // namespace hearth
