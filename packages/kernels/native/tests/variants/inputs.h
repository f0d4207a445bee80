#pragma once

// Random numbers and awkward floats for tests, the same on every machine.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hearth {

/// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint32_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>((z ^ z >> 31) >> 32);
  }
  /// 0 .. end - 1
  int32_t below(int32_t end) { return static_cast<int32_t>(uint64_t{bits()} * static_cast<uint32_t>(end) >> 32); }
  /// -size .. size, evenly
  float around_zero(float size) { return (static_cast<float>(bits() >> 8) * 0x1p-23f - 1.0f) * size; }

 private:
  uint64_t state_;
};

inline float float_from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline std::vector<float> random_floats(Random& random, int64_t count, float size) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) value = random.around_zero(size);
  return x;
}

/// Mostly moderate floats, with zeros of both signs, denormals, and now and then very small and very large ones among them.
inline std::vector<float> awkward_floats(Random& random, int64_t count) {
  std::vector<float> x = random_floats(random, count, 4.0f);
  for (float& value : x) {
    switch (random.below(24)) {
      case 0: value = 0.0f; break;
      case 1: value = -0.0f; break;
      case 2: value *= 0x1p-130f; break;
      case 3: value *= 1e-20f; break;
      case 4: value *= 1000.0f; break;
      case 5: value = static_cast<float>(random.below(9) - 4); break;
      default: break;
    }
  }
  return x;
}

/// The same, with one value that is NaN, infinite, or so large that its square is.
inline std::vector<float> spoilt_floats(Random& random, int64_t count) {
  std::vector<float> x = awkward_floats(random, count);
  const float spoilers[] = {NAN, HUGE_VALF, -HUGE_VALF, 3e38f};
  x[static_cast<std::size_t>(random.below(static_cast<int32_t>(count)))] = spoilers[random.below(4)];
  return x;
}

}  // namespace hearth
