// Elementary functions and conversions, over bit patterns of all exponents.

#include <vector>

#include "variants/comparison.h"
#include "variants/inputs.h"

namespace hearth {
namespace {

/// Distance of the bit patterns: a prime, so that all low bits occur. 2^32 / 12289 is 350,000 patterns.
constexpr uint64_t kPatternStep = 12289;
constexpr std::size_t kChunk = 4096;

/// Every kPatternStep-th float from `first` to `last`, as bits, and what lies around the borders of the polynomials.
std::vector<float> patterns(uint64_t first, uint64_t last) {
  std::vector<float> x;
  for (uint64_t bits = first; bits <= last; bits += kPatternStep) x.push_back(float_from_bits(static_cast<uint32_t>(bits)));
  for (const float border : {0.0f, 1.0f, 0.625f, 0.70710678f, 87.0f, 88.0f, 88.72f, 103.0f, 0x1p-126f, HUGE_VALF}) {
    uint32_t bits;
    std::memcpy(&bits, &border, sizeof bits);
    for (const uint32_t sign : {0u, 0x80000000u}) {
      for (uint32_t near = 0; near < 16; ++near) {
        const uint32_t pattern = (bits + near < 8 ? near : bits + near - 8) | sign;
        if (pattern >= first && pattern <= last) x.push_back(float_from_bits(pattern));
      }
    }
  }
  while (x.size() % 8 != 0) x.push_back(1.0f);
  return x;
}

/// Calls compare(first, count) for pieces of `size` values, each a multiple of 8 long when size is.
template <class Compare>
void in_chunks(std::size_t size, Compare&& compare) {
  for (std::size_t at = 0; at < size; at += kChunk) compare(at, static_cast<int64_t>(size - at < kChunk ? size - at : kChunk));
}

using Function = void (*)(const float* x, int64_t n, float* out);

void compare_function(Comparison& comparison, const char* name, Function KernelTable::*entry) {
  comparison.start(name, entry);
  const std::vector<float> x = patterns(0, 0xffffffffu);
  in_chunks(x.size(), [&](std::size_t at, int64_t count) {
    comparison.compare(text_of("values from ", at), [&](const KernelTable& k, Results& r) {
      (k.*entry)(x.data() + at, count, r.floats("out", count));
    });
  });
}

/// Angles are below 2^20 · pi / 2.
void compare_sincos(Comparison& comparison) {
  comparison.start("sincos", &KernelTable::sincos_values);
  const std::vector<float> angles = patterns(0, 0x49c90000u);
  in_chunks(angles.size(), [&](std::size_t at, int64_t count) {
    comparison.compare(text_of("values from ", at), [&](const KernelTable& k, Results& r) {
      float* sines = r.floats("sine", count);
      k.sincos_values(angles.data() + at, count, sines, r.floats("cosine", count));
    });
  });
}

/// Any floats; then short significands, whose sums often lie halfway between two floats; then denormal products and sums.
void compare_fma(Comparison& comparison) {
  comparison.start("fma", &KernelTable::fma_values);
  Random random(11);
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<float> a(60000), b(60000), c(60000);
    for (std::size_t i = 0; i < a.size(); ++i) {
      // One statement for each number: compilers choose the order of arguments.
      if (kind == 0) {
        a[i] = float_from_bits(random.bits());
        b[i] = float_from_bits(random.bits());
        c[i] = float_from_bits(random.bits());
      } else if (kind == 1) {
        a[i] = 1.0f + static_cast<float>(random.below(4096)) / 4096.0f;
        b[i] = static_cast<float>(4096 + random.below(4096)) * 0x1p-12f;
        b[i] *= static_cast<float>(1 << random.below(4));
        c[i] = std::ldexp(1.0f, random.below(60) - 50);
        c[i] *= random.below(2) == 0 ? -1.0f : 1.0f;
      } else {
        a[i] = random.around_zero(0x1p-70f);
        b[i] = random.around_zero(0x1p-60f);
        c[i] = random.around_zero(0x1p-125f);
      }
    }
    in_chunks(a.size(), [&](std::size_t at, int64_t count) {
      comparison.compare(text_of("operands of kind ", kind, " from ", at), [&](const KernelTable& k, Results& r) {
        k.fma_values(a.data() + at, b.data() + at, c.data() + at, count, r.floats("out", count));
      });
    });
  }
}

/// All halves; floats of all patterns, all halfway points between halves, and their neighbours.
void compare_halves(Comparison& comparison) {
  std::vector<uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> widened(halves.size());
  comparison.start("f16_to_f32", &KernelTable::f16_to_f32);
  comparison.compare("all halves", [&](const KernelTable& k, Results& r) {
    k.f16_to_f32(halves.data(), 65536, r.floats("out", 65536));
  });

  comparison.start("f32_to_f16", &KernelTable::f32_to_f16);
  std::vector<float> x = patterns(0, 0xffffffffu);
  choose_variant("portable").kernels().f16_to_f32(halves.data(), 65536, widened.data());
  for (std::size_t i = 0; i + 1 < halves.size(); ++i) {
    const float halfway = widened[i] + (widened[i + 1] - widened[i]) * 0.5f;
    for (const float value : {widened[i], std::nextafter(halfway, 0.0f), halfway, std::nextafter(halfway, 1e6f)}) x.push_back(value);
  }
  while (x.size() % 8 != 0) x.push_back(1.0f);
  in_chunks(x.size(), [&](std::size_t at, int64_t count) {
    comparison.compare(text_of("values from ", at), [&](const KernelTable& k, Results& r) {
      k.f32_to_f16(x.data() + at, count, r.halves("out", count));
    });
  });
}

}  // namespace

void compare_elementary(Comparison& comparison) {
  compare_function(comparison, "exp", &KernelTable::exp_values);
  compare_function(comparison, "tanh", &KernelTable::tanh_values);
  compare_function(comparison, "log", &KernelTable::log_values);
  compare_sincos(comparison);
  compare_fma(comparison);
  compare_halves(comparison);
}

}  // namespace hearth
