#pragma once

// Random weights as they lie in a file, and packed into tiles: the twin of src/__fixtures__/random-blocks.ts.

#include <cstdint>
#include <vector>

#include "kernels/dtype.h"
#include "variants/inputs.h"

namespace hearth {

/// Which bits the codes and the small scales of blocks have: any, or one byte everywhere, for the extremes of sums.
constexpr int kRandomCodes = -1;

/// `rows` rows of a file. Codes and small scales are any bits, so that every value occurs; f16 and f32 numbers are finite, of
/// either sign and moderate size.
std::vector<uint8_t> random_rows(Dtype dtype, int64_t rows, int64_t columns, Random& random, int code_byte = kRandomCodes);

/// A matrix in tiles, 64-byte aligned.
class PackedMatrix {
 public:
  PackedMatrix(Dtype dtype, int64_t rows, int64_t columns, Random& random, int code_byte = kRandomCodes);
  PackedMatrix(const PackedMatrix&) = delete;

  const uint8_t* data() const { return storage_.data() + start_; }

 private:
  std::vector<uint8_t> storage_;
  std::size_t start_;
};

}  // namespace hearth
