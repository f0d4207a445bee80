#pragma once

// The shapes of products (generic/linear.h) where a vector is 16 rows: one place for the variant and for its emulation in
// tests, so that both walk tiles and tokens alike.

#include "kernels/vnni/vnni_products.h"

namespace hearth {

/// What a struct of 16 lanes starts from.
struct WideShapes {
  static constexpr int kVectorTiles = 2;
  static constexpr bool kHasWideDots = true;
  static constexpr bool kHasSignedDots = false;
  static constexpr bool kHasMatrixProducts = false;
  /// Integer products of 2 x 4 to 3 x 8 and in 8 lanes are within 3% of each other on Zen 4, at 76-78% of its peak, where
  /// their float chains leave 80%. Products with floats: 4 x 6 reaches 83-95%, 2 x 4 62-76%.
  static constexpr int kDecodeVectors = 4;
  static constexpr int kFewDecodeVectors = 2;
  static constexpr int kVectors = 2;
  static constexpr int kTokens = 4;
  static constexpr int kFloatVectors = 4;
  static constexpr int kFloatTokens = 6;
};

/// The 8 lanes beside it: products come here with the last tile alone, one vector.
template <class Dot>
struct LastTileProducts : VnniProducts<Dot> {
  static constexpr int kDecodeVectors = 1;
  static constexpr int kFewDecodeVectors = 1;
  static constexpr int kVectors = 1;
  static constexpr int kFloatVectors = 1;
};

}  // namespace hearth
