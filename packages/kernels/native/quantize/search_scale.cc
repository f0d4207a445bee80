#include "quantize/search_scale.h"

#include <cmath>
#include <limits>

#include "quantize/rounding.h"

namespace hearth {
namespace {

/// Below it a block counts as zero.
constexpr double kNegligible = 1e-15;

/// For each trial the sums that its error follows from: of weight · x · code and weight · code².
template <int TRIALS>
struct TrialSums {
  double x_code[TRIALS] = {};
  double code_code[TRIALS] = {};

  /// The scale of the trial with the largest gain; the first of several.
  double best_scale() const {
    double scale = 0;
    double gain = 0;
    for (int t = 0; t < TRIALS; ++t) {
      if (code_code[t] > 0 && x_code[t] * x_code[t] > gain * code_code[t]) {
        gain = x_code[t] * x_code[t] / code_code[t];
        scale = x_code[t] / code_code[t];
      }
    }
    return scale;
  }
};

}  // namespace

double search_scale(const float* x, int num_levels) {
  constexpr int kReach = 9;
  constexpr int kTrials = 2 * kReach + 1;
  const double extreme = value_of_largest_magnitude(x, 16);
  if (std::fabs(extreme) < kNegligible) return 0;
  double inverse[kTrials];
  for (int t = 0; t < kTrials; ++t) inverse[t] = -(num_levels + 0.1 * (t - kReach)) / extreme;
  TrialSums<kTrials> sums;
  for (int i = 0; i < 16; ++i) {
    const double value = x[i];
    const double weight = value * value;
    const double weighted = weight * value;
    for (int t = 0; t < kTrials; ++t) {
      const double code = nearest_within(inverse[t] * value, -num_levels, num_levels - 1);
      sums.x_code[t] += weighted * code;
      sums.code_code[t] += weight * code * code;
    }
  }
  return sums.best_scale();
}

double search_level_scale(const float* x) {
  constexpr int kReach = 7;
  constexpr int kTrials = 2 * kReach + 1;
  const double extreme = value_of_largest_magnitude(x, 32);
  if (std::fabs(extreme) < kNegligible) return 0;
  double scale[kTrials];
  for (int t = 0; t < kTrials; ++t) scale[t] = extreme / (kIq4Levels[0] + (t - kReach));
  TrialSums<kTrials> sums;
  for (int i = 0; i < 32; ++i) {
    const double value = x[i];
    const double weight = value * value;
    const double weighted = weight * value;
    for (int t = 0; t < kTrials; ++t) {
      const double doubled = 2 * (value / scale[t]);
      // Up one level for each middle between two that lies below: exact, as all are integers.
      double level = kIq4Levels[0];
      for (int j = 0; j < 15; ++j) {
        level += doubled > kIq4Levels[j] + kIq4Levels[j + 1] ? double(kIq4Levels[j + 1] - kIq4Levels[j]) : 0.0;
      }
      sums.x_code[t] += weighted * level;
      sums.code_code[t] += weight * level * level;
    }
  }
  return sums.best_scale();
}

ScaleAndMin search_scale_and_min(const float* x, int n, int max_code) {
  constexpr int kTrials = 16;
  double smallest = 0;
  double largest = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double value = x[i];
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
    squares += value * value;
  }
  const double range = largest - smallest;
  if (range < kNegligible) return {0, 0};
  const double typical = std::sqrt(squares / n);

  double inverse[kTrials];
  for (int t = 0; t < kTrials; ++t) inverse[t] = (max_code - 0.5 + 0.1 * t) / range;
  // These do not depend on the codes.
  double weights = 0, sum_x = 0, sum_xx = 0;
  double sum_code[kTrials] = {}, sum_code_code[kTrials] = {}, sum_x_code[kTrials] = {};
  for (int i = 0; i < n; ++i) {
    const double value = x[i];
    const double weight = typical + std::fabs(value);
    const double weighted = weight * value;
    weights += weight;
    sum_x += weighted;
    sum_xx += weighted * value;
    for (int t = 0; t < kTrials; ++t) {
      const double code = nearest_within(inverse[t] * (value - smallest), 0, max_code);
      const double weighted_code = weight * code;
      sum_code[t] += weighted_code;
      sum_code_code[t] += weighted_code * code;
      sum_x_code[t] += weighted * code;
    }
  }

  ScaleAndMin best = {range / max_code, -smallest};
  double best_error = std::numeric_limits<double>::infinity();
  for (int t = 0; t < kTrials; ++t) {
    const double determinant = weights * sum_code_code[t] - sum_code[t] * sum_code[t];
    double scale, min, error;
    if (!(determinant > 0) && sum_x < 0) {
      // All codes are equal, and the values are below zero: the minimum alone stands for them.
      scale = 0;
      min = -sum_x / weights;
      error = sum_xx - (sum_x * sum_x) / weights;
    } else {
      scale = (weights * sum_x_code[t] - sum_x * sum_code[t]) / determinant;
      min = (sum_code[t] * sum_x_code[t] - sum_x * sum_code_code[t]) / determinant;
      // Not `min < 0`: without a determinant it is not a number.
      if (!(min >= 0)) {
        min = 0;
        scale = sum_x_code[t] / sum_code_code[t];
      }
      error = scale * scale * sum_code_code[t] + min * min * weights + sum_xx - 2 * scale * min * sum_code[t] -
              2 * scale * sum_x_code[t] + 2 * min * sum_x;
    }
    if (error < best_error) {
      best_error = error;
      best = {scale, min};
    }
  }
  return best;
}

}  // namespace hearth
