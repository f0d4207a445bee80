#include "variants/random_blocks.h"

#include <cstring>

#include "kernels/portable/scalar.h"
#include "weights/pack.h"

namespace hearth {
namespace {

/// Bytes at which a block in a file has its f16 numbers.
std::vector<int> half_places(Dtype dtype) {
  switch (dtype) {
    case Dtype::q4_1:
    case Dtype::q5_1:
    case Dtype::q4_k:
    case Dtype::q5_k: return {0, 2};
    case Dtype::q2_k: return {80, 82};
    case Dtype::q3_k: return {108};
    case Dtype::q6_k: return {208};
    default: return {0};
  }
}

float scale_number(Random& random, float size) {
  const float magnitude = size * (0.1f + 0x1p-24f * static_cast<float>(random.bits() >> 8));
  return random.below(10) < 3 ? -magnitude : magnitude;
}

void put_half(uint8_t* to, float x) {
  const uint16_t half = scalar::f32_to_f16(x);
  std::memcpy(to, &half, sizeof half);
}

void fill_plain(Dtype dtype, Random& random, std::vector<uint8_t>& bytes) {
  const std::size_t size = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const float x = random.around_zero(0.5f);
    uint32_t bits = scalar::bits_of(x);
    if (dtype == Dtype::f16) bits = scalar::f32_to_f16(random.below(8) == 0 ? x * 1e-5f : x);
    if (dtype == Dtype::bf16) bits >>= 16;
    std::memcpy(bytes.data() + at, &bits, size);
  }
}

/// The numbers of one block; its other bytes are set already.
void put_numbers(Dtype dtype, Random& random, uint8_t* block) {
  if (dtype == Dtype::f8_e4m3) {
    const float scale = scale_number(random, 0.01f);
    std::memcpy(block, &scale, sizeof scale);
    for (int i = 4; i < 36; ++i) {
      if ((block[i] & 0x7f) == 0x7f) block[i] = 0x7e;  // not NaN
    }
    return;
  }
  const float size = dtype_info(dtype).block_elements == 256 ? 0.0005f : 0.01f;
  for (const int place : half_places(dtype)) put_half(block + place, scale_number(random, size));
  if (dtype == Dtype::int4_g32 || dtype == Dtype::int4_g128) {
    block[2] = static_cast<uint8_t>(random.below(17));
    block[3] = 0;
  }
}

}  // namespace

std::vector<uint8_t> random_rows(Dtype dtype, int64_t rows, int64_t columns, Random& random, int code_byte) {
  std::vector<uint8_t> bytes(static_cast<std::size_t>(rows * file_row_bytes(dtype, columns)));
  if (dtype_info(dtype).block_elements == 1) {
    fill_plain(dtype, random, bytes);
    return bytes;
  }
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(code_byte == kRandomCodes ? random.below(256) : code_byte);
  const std::size_t size = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += size) put_numbers(dtype, random, bytes.data() + at);
  return bytes;
}

PackedMatrix::PackedMatrix(Dtype dtype, int64_t rows, int64_t columns, Random& random, int code_byte) {
  constexpr std::size_t kAlignment = 64;
  storage_.resize(static_cast<std::size_t>(packed_bytes(dtype, rows, columns)) + kAlignment);
  start_ = kAlignment - reinterpret_cast<std::uintptr_t>(storage_.data()) % kAlignment;
  const std::vector<uint8_t> file = random_rows(dtype, rows, columns, random, code_byte);
  pack_rows(dtype, columns, file.data(), 0, rows, nullptr, storage_.data() + start_);
}

}  // namespace hearth
