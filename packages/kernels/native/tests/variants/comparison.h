#pragma once

// Holds variants to the portable one, entry by entry of their kernel tables.

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "variants/results.h"

namespace hearth {

/// The parts as one text.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

class Comparison {
 public:
  explicit Comparison(std::vector<Variant> variants);

  /// The cases that follow are of this entry of the table.
  template <class Kernel>
  void start(const std::string& name, Kernel KernelTable::*entry) {
    start(name, reinterpret_cast<const char*>(&(portable_.*entry)));
  }
  template <class Kernel, std::size_t SIZE>
  void start(const std::string& name, Kernel (KernelTable::*entries)[SIZE], int index) {
    start(name, reinterpret_cast<const char*>(&(portable_.*entries)[index]));
  }

  /// Runs the kernel of the entry with each table: run(const KernelTable&, Results&). `what` names the case in messages.
  template <class Run>
  void compare(const std::string& what, Run&& run) {
    Results expected;
    run(portable_, expected);
    expected.add_to_digest(&digest_);
    ++num_cases_;
    num_values_ += expected.num_values();
    for (const Variant& variant : variants_) {
      Results got;
      run(variant.kernels(), got);
      const std::string difference = got.difference(expected);
      if (!difference.empty()) report(variant, what, difference);
    }
  }

  /// Prints what was compared. Entries that no case was about are a failure. Returns whether all was equal.
  bool finish();

 private:
  static constexpr uint64_t kDigestStart = 0xcbf29ce484222325u;

  void start(const std::string& name, const char* entry);
  void print_entry() const;
  void report(const Variant& variant, const std::string& what, const std::string& difference);

  const KernelTable& portable_;
  std::vector<Variant> variants_;
  /// Of each slot of the table: whether it was an entry in turn.
  std::vector<bool> was_started_;
  std::string name_;
  int64_t num_cases_ = 0;
  int64_t num_values_ = 0;
  int64_t num_differences_ = 0;
  /// Of what the portable variant computed for the entry.
  uint64_t digest_ = kDigestStart;
};

// The cases, by kernel.
void compare_elementary(Comparison& comparison);
void compare_rows(Comparison& comparison);
void compare_linear(Comparison& comparison);
void compare_attention(Comparison& comparison);
void compare_peaks(Comparison& comparison);

/// Widths around those of lanes, blocks and registers.
constexpr int64_t kAwkwardWidths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 127, 129, 1023};

}  // namespace hearth
