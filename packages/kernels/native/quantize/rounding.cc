#include "quantize/rounding.h"

namespace hearth {
namespace {

uint16_t half_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // 65520 and above round to infinity; NaN is no better.
  if (magnitude >= 0x477ff000u) throw HalfOverflow();
  if (magnitude >= 0x38800000u) {
    // Normal numbers: 13 bits of the mantissa go, halves to even; a carry moves into the exponent.
    return static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
  }
  // Below, the unit is 2^-24: that of 0.5, so adding it rounds.
  float absolute;
  std::memcpy(&absolute, &magnitude, sizeof absolute);
  const float shifted = absolute + 0.5f;
  uint32_t rounded;
  std::memcpy(&rounded, &shifted, sizeof rounded);
  return static_cast<uint16_t>(sign | (rounded - 0x3f000000u));
}

double half_value(uint16_t half) {
  const double sign = half & 0x8000 ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 0x3ff;
  if (exponent == 0) return sign * mantissa * 0x1p-24;
  const uint64_t bits = static_cast<uint64_t>(exponent - 15 + 1023) << 52 | static_cast<uint64_t>(mantissa) << 42;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return sign * value;
}

}  // namespace

double write_half(uint8_t* block, double value) {
  const uint16_t bits = half_bits(static_cast<float>(value));
  block[0] = static_cast<uint8_t>(bits);
  block[1] = static_cast<uint8_t>(bits >> 8);
  return half_value(bits);
}

}  // namespace hearth
