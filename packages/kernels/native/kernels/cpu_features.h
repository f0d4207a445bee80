#pragma once

// What this processor and its operating system offer, as bits.

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

enum CpuFeature : uint32_t {
  kAvx2 = 1u << 0,
  kFma = 1u << 1,
  kF16c = 1u << 2,
  kAvxVnni = 1u << 3,
  /// F, BW, DQ and VL together: what every server processor with AVX-512 since 2017 has.
  kAvx512 = 1u << 4,
  kAvx512Vnni = 1u << 5,
  /// Dot products of bytes (sdot).
  kDotprod = 1u << 6,
  /// Arithmetic in half floats; with it come the conversions in vectors.
  kFp16 = 1u << 7,
  /// Matrix products of bytes (smmla).
  kI8mm = 1u << 8,
};

/// Bits of CpuFeature; asked once.
uint32_t cpu_features();

/// Their names, lowest bit first.
std::vector<std::string> cpu_feature_names(uint32_t features);

}  // namespace hearth
