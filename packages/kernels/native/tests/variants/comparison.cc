#include "variants/comparison.h"

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace hearth {
namespace {

/// Enough to see what is wrong.
constexpr int64_t kMostDifferences = 8;

/// All entries are pointers to functions.
using Slot = void (*)();
constexpr std::size_t kNumSlots = sizeof(KernelTable) / sizeof(Slot);
static_assert(kNumSlots * sizeof(Slot) == sizeof(KernelTable), "entries are pointers alone");

void require_complete(const Variant& variant) {
  Slot slots[kNumSlots];
  std::memcpy(slots, &variant.kernels(), sizeof slots);
  for (const Slot slot : slots) {
    if (slot != nullptr) continue;
    std::fprintf(stderr, "%s has an empty entry in its kernel table\n", variant.name);
    std::exit(1);
  }
}

}  // namespace

Comparison::Comparison(std::vector<Variant> variants)
    : portable_(choose_variant("portable").kernels()), variants_(std::move(variants)), was_started_(kNumSlots, false) {
  for (const Variant& variant : variants_) require_complete(variant);
}

void Comparison::start(const std::string& name, const char* entry) {
  print_entry();
  name_ = name;
  num_cases_ = 0;
  num_values_ = 0;
  digest_ = kDigestStart;
  was_started_[static_cast<std::size_t>(entry - reinterpret_cast<const char*>(&portable_)) / sizeof(Slot)] = true;
}

void Comparison::print_entry() const {
  if (name_.empty()) return;
  std::printf("%-28s %6" PRId64 " cases %8" PRId64 " values %016" PRIx64 "\n", name_.c_str(), num_cases_, num_values_, digest_);
  std::fflush(stdout);
}

void Comparison::report(const Variant& variant, const std::string& what, const std::string& difference) {
  std::fprintf(stderr, "%s: %s, %s: %s\n", variant.name, name_.c_str(), what.c_str(), difference.c_str());
  if (++num_differences_ < kMostDifferences) return;
  std::fprintf(stderr, "... and perhaps more.\n");
  std::exit(1);
}

bool Comparison::finish() {
  print_entry();
  std::size_t num_started = 0;
  for (const bool was_started : was_started_) num_started += was_started ? 1 : 0;
  std::printf("%zu of %zu entries compared\n", num_started, kNumSlots);
  if (num_started != kNumSlots) std::fprintf(stderr, "The kernel table has entries that native/tests/variants compares nothing of.\n");
  return num_started == kNumSlots && num_differences_ == 0;
}

}  // namespace hearth
