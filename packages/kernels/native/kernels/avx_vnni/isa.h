#pragma once

// The primitives of kernels/portable/isa.h for processors with AVX2 and AVX-VNNI, the instructions of VNNI without AVX-512
// (Intel since Alder Lake, AMD since Zen 5).

#include <immintrin.h>

#include "kernels/vnni/vnni_products.h"

namespace hearth {

/// vpdpbusd as AVX encodes it.
struct VexDot {
  static HEARTH_INLINE __m256i dot(__m256i sum, __m256i codes, __m256i x) { return _mm256_dpbusd_avx_epi32(sum, codes, x); }
};

struct AvxVnni : VnniProducts<VexDot> {
  using Tile = AvxVnni;
  using Wide = AvxVnni;
};

}  // namespace hearth
