#pragma once

// The searches of packages/core/src/quantize/search-scale.ts and iq4.ts, where they are explained. Each tries a few scales and
// keeps the one whose codes fit best. Here all trials of a search run side by side: a sum is still one chain over ascending
// elements, and the chains of different trials share vector registers.

namespace hearth {

/// The 16 values that a code of iq4_nl and iq4_xs stands for.
constexpr int kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// x ≈ scale · code with codes in [-num_levels, num_levels - 1]; x has 16 values. 0 for a block of zeros.
double search_scale(const float* x, int num_levels);

struct ScaleAndMin {
  double scale;
  /// At least 0, subtracted: x ≈ scale · code - min.
  double min;
};

/// x has n values (16 or 32), codes are in [0, max_code].
ScaleAndMin search_scale_and_min(const float* x, int n, int max_code);

/// x ≈ scale · level over kIq4Levels; x has 32 values.
double search_level_scale(const float* x);

}  // namespace hearth
