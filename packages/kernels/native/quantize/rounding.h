#pragma once

// How the quantizer rounds, operation by operation as packages/core/src/quantize has it. All of it is f64: plain sums,
// differences, products, quotients and comparisons in the order of the TypeScript, sums ascending, no fma.

#include <cstdint>
#include <cstring>

namespace hearth {

/// The nearest integer within [least, most], halves to even; `value` is not NaN. Two selects and no branches, so that loops
/// over it become vector code.
inline double nearest_within(double value, double least, double most) {
  // Adding and subtracting it rounds a double of magnitude below 2^51.
  constexpr double kRoundToInteger = 6755399441055744.0;
  const double at_least = value > least ? value : least;
  const double within = at_least < most ? at_least : most;
  return within + kRoundToInteger - kRoundToInteger;
}

/// The value of largest magnitude, with its sign; the first where several are equal.
inline double value_of_largest_magnitude(const float* x, int n) {
  float extreme = 0.0f;
  for (int i = 0; i < n; ++i) {
    if ((x[i] < 0 ? -x[i] : x[i]) > (extreme < 0 ? -extreme : extreme)) extreme = x[i];
  }
  return extreme;
}

/// A value that f16 cannot hold, thrown within the quantizer: whoever knows the block says so.
struct HalfOverflow {};

/// Writes a scale or minimum as f16 (rounded to f32 first, as core does) and returns its value as readers see it. Throws
/// HalfOverflow.
double write_half(uint8_t* block, double value);

}  // namespace hearth
