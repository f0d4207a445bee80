// Blocks in layouts of our own, made from AWQ, GPTQ and fp8 tensors. Not every bit pattern of them has a meaning.

#include <cstring>

#include "kernels/dtype.h"
#include "runtime/failure.h"
#include "weights/canonical_block.h"

namespace hearth {
namespace {

/// Products are exact up to here (kernels/generic/integer_products.h).
constexpr int kLargestZeroPoint = 16;

void canonical_int4(const uint8_t* block, Dtype dtype, uint8_t* canonical) {
  const int zero_point = block[2] | block[3] << 8;
  if (zero_point > kLargestZeroPoint) {
    fail(kInvalidModel, "A block of ", dtype_info(dtype).name, " has the zero point ", zero_point, ", expected 0 to ",
         kLargestZeroPoint, ". The file is damaged.");
  }
  std::memcpy(canonical, block, static_cast<std::size_t>(dtype_info(dtype).block_bytes));
}

/// e4m3fn (sign, 4 bits of exponent with bias 7, 3 of mantissa) to binary16 of the same value; 0x7f and 0xff are NaN.
constexpr uint16_t f8_to_f16(int code) {
  const int sign = (code & 0x80) << 8;
  const int magnitude = code & 0x7f;
  if (magnitude >= 8) return static_cast<uint16_t>(sign | ((magnitude << 7) + (8 << 10)));
  // Denormals count in units of 2^-9, where f16 is normal.
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  const int exponent = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;
  return static_cast<uint16_t>(sign | (6 + exponent) << 10 | (magnitude << (10 - exponent) & 0x3ff));
}

struct F8Halves {
  uint16_t of[256];
};

constexpr F8Halves f8_halves() {
  F8Halves halves{};
  for (int code = 0; code < 256; ++code) halves.of[code] = f8_to_f16(code);
  return halves;
}

constexpr F8Halves kF8Halves = f8_halves();

}  // namespace

void canonical_int4_g32(const uint8_t* block, uint8_t* canonical) { canonical_int4(block, Dtype::int4_g32, canonical); }
void canonical_int4_g128(const uint8_t* block, uint8_t* canonical) { canonical_int4(block, Dtype::int4_g128, canonical); }

/// File: f32 scale, 32 codes. Canonical: f32 scale, 32 f16.
void canonical_f8_e4m3(const uint8_t* block, uint8_t* canonical) {
  std::memcpy(canonical, block, 4);
  bool is_nan = false;
  uint16_t halves[32];
  for (int i = 0; i < 32; ++i) {
    const uint8_t code = block[4 + i];
    is_nan |= (code & 0x7f) == 0x7f;
    halves[i] = kF8Halves.of[code];
  }
  if (is_nan) fail(kInvalidModel, "A weight of f8_e4m3 is NaN. The file is damaged.");
  std::memcpy(canonical + 4, halves, sizeof halves);
}

}  // namespace hearth
