#pragma once

// ARMv8.2 with dot products of bytes (sdot): Cortex-A76 and Neoverse N1 and later, every Apple M.

#include "kernels/neon/neon_base.h"

namespace hearth {

struct NeonDotprod : NeonBase {
  using Tile = NeonDotprod;
  using Wide = NeonDotprod;
  static constexpr bool kHasMatrixProducts = false;
};

}  // namespace hearth
