// Super-blocks of 256 values whose sub-blocks have integer scales (and minimums) that share one f16 scale (and one f16
// minimum): packages/core/src/quantize/k-quants.ts.

#include <cstring>

#include "quantize/encode_block.h"
#include "quantize/rounding.h"
#include "quantize/search_scale.h"

namespace hearth {
namespace {

constexpr int kValues = 256;

struct Symmetric {
  int scales[16];
  /// Shifted by num_levels, so that none is negative.
  uint8_t codes[kValues];
};

/// 16 sub-blocks without minimums; the f16 scale goes to `half`.
Symmetric symmetric_block(const float* values, int num_levels, int min_scale, int max_scale, uint8_t* half) {
  // Kept as f32 between the search and the scale of the super-block, as in TypeScript.
  float wanted[16];
  for (int s = 0; s < 16; ++s) wanted[s] = static_cast<float>(search_scale(values + 16 * s, num_levels));
  const double scale = write_half(half, value_of_largest_magnitude(wanted, 16) / min_scale);
  Symmetric block;
  for (int s = 0; s < 16; ++s) {
    const double sub_scale = scale == 0 ? 0.0 : nearest_within(wanted[s] / scale, min_scale, max_scale);
    block.scales[s] = static_cast<int>(sub_scale);
    const double step = scale * sub_scale;
    for (int i = 16 * s; i < 16 * s + 16; ++i) {
      const double code = step == 0 ? 0.0 : nearest_within(values[i] / step, -num_levels, num_levels - 1);
      block.codes[i] = static_cast<uint8_t>(static_cast<int>(code) + num_levels);
    }
  }
  return block;
}

struct Affine {
  uint8_t scales[16];
  uint8_t mins[16];
  uint8_t codes[kValues];
};

/// Sub-blocks of `sub_block` values with a scale and a minimum each; the f16 scale and minimum go to `half` and behind it.
Affine affine_block(const float* values, int sub_block, int max_code, int max_scale, uint8_t* half) {
  const int count = kValues / sub_block;
  ScaleAndMin wanted[16];
  double largest_scale = 0;
  double largest_min = 0;
  for (int s = 0; s < count; ++s) {
    wanted[s] = search_scale_and_min(values + sub_block * s, sub_block, max_code);
    if (wanted[s].scale > largest_scale) largest_scale = wanted[s].scale;
    if (wanted[s].min > largest_min) largest_min = wanted[s].min;
  }
  const double scale = write_half(half, largest_scale / max_scale);
  const double min = write_half(half + 2, largest_min / max_scale);
  Affine block;
  for (int s = 0; s < count; ++s) {
    const double sub_scale = scale == 0 ? 0.0 : nearest_within(wanted[s].scale / scale, 0, max_scale);
    const double sub_min = min == 0 ? 0.0 : nearest_within(wanted[s].min / min, 0, max_scale);
    block.scales[s] = static_cast<uint8_t>(sub_scale);
    block.mins[s] = static_cast<uint8_t>(sub_min);
    const double step = scale * sub_scale;
    const double below = min * sub_min;
    for (int i = sub_block * s; i < sub_block * (s + 1); ++i) {
      const double code = step == 0 ? 0.0 : nearest_within((values[i] + below) / step, 0, max_code);
      block.codes[i] = static_cast<uint8_t>(code);
    }
  }
  return block;
}

/// Bits 0 and 1: byte i of each half of 128 holds elements i, i + 32, i + 64, i + 96 from its low bits up.
void write_two_bits(const uint8_t* codes, uint8_t* bytes) {
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      int byte = 0;
      for (int p = 0; p < 4; ++p) byte |= (codes[128 * half + 32 * p + i] & 3) << (2 * p);
      bytes[32 * half + i] = static_cast<uint8_t>(byte);
    }
  }
}

/// Bits 0 to 3: byte i of each 64 elements holds element i and element i + 32.
void write_nibble_pairs(const uint8_t* codes, uint8_t* bytes) {
  for (int pair = 0; pair < 4; ++pair) {
    for (int i = 0; i < 32; ++i) {
      bytes[32 * pair + i] = static_cast<uint8_t>((codes[64 * pair + i] & 15) | (codes[64 * pair + 32 + i] & 15) << 4);
    }
  }
}

/// One bit of each code: byte i holds elements i, i + 32, ... from its low bit up.
void write_bit_plane(const uint8_t* codes, int bit, uint8_t* bytes) {
  for (int i = 0; i < 32; ++i) {
    int byte = 0;
    for (int chunk = 0; chunk < 8; ++chunk) byte |= (codes[32 * chunk + i] >> bit & 1) << chunk;
    bytes[i] = static_cast<uint8_t>(byte);
  }
}

/// 8 scales and 8 minimums of 6 bits in 12 bytes; those of sub-blocks 4..7 keep their upper 2 bits above the first ones.
void write_six_bit_pairs(const uint8_t* scales, const uint8_t* mins, uint8_t* bytes) {
  for (int s = 0; s < 4; ++s) {
    bytes[s] = static_cast<uint8_t>(scales[s] | (scales[s + 4] >> 4) << 6);
    bytes[4 + s] = static_cast<uint8_t>(mins[s] | (mins[s + 4] >> 4) << 6);
    bytes[8 + s] = static_cast<uint8_t>((scales[s + 4] & 15) | (mins[s + 4] & 15) << 4);
  }
}

}  // namespace

void encode_q2_k(const float* values, uint8_t* block) {
  const Affine affine = affine_block(values, 16, 3, 15, block + 80);
  for (int s = 0; s < 16; ++s) block[s] = static_cast<uint8_t>(affine.scales[s] | affine.mins[s] << 4);
  write_two_bits(affine.codes, block + 16);
}

void encode_q3_k(const float* values, uint8_t* block) {
  const Symmetric symmetric = symmetric_block(values, 4, -32, 31, block + 108);
  write_bit_plane(symmetric.codes, 2, block);
  write_two_bits(symmetric.codes, block + 32);
  int stored[16];
  for (int s = 0; s < 16; ++s) stored[s] = symmetric.scales[s] + 32;
  for (int s = 0; s < 8; ++s) block[96 + s] = static_cast<uint8_t>((stored[s] & 15) | (stored[s + 8] & 15) << 4);
  for (int j = 0; j < 4; ++j) {
    int high = 0;
    for (int p = 0; p < 4; ++p) high |= (stored[4 * p + j] >> 4) << (2 * p);
    block[104 + j] = static_cast<uint8_t>(high);
  }
}

void encode_q4_k(const float* values, uint8_t* block) {
  const Affine affine = affine_block(values, 32, 15, 63, block);
  write_six_bit_pairs(affine.scales, affine.mins, block + 4);
  write_nibble_pairs(affine.codes, block + 16);
}

void encode_q5_k(const float* values, uint8_t* block) {
  const Affine affine = affine_block(values, 32, 31, 63, block);
  write_six_bit_pairs(affine.scales, affine.mins, block + 4);
  write_bit_plane(affine.codes, 4, block + 16);
  write_nibble_pairs(affine.codes, block + 48);
}

void encode_q6_k(const float* values, uint8_t* block) {
  const Symmetric symmetric = symmetric_block(values, 32, -128, 127, block + 208);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t* codes = symmetric.codes + 128 * half + i;
      const int a = codes[0], b = codes[32], c = codes[64], d = codes[96];
      block[64 * half + i] = static_cast<uint8_t>((a & 15) | (c & 15) << 4);
      block[64 * half + 32 + i] = static_cast<uint8_t>((b & 15) | (d & 15) << 4);
      block[128 + 32 * half + i] = static_cast<uint8_t>(a >> 4 | (b >> 4) << 2 | (c >> 4) << 4 | (d >> 4) << 6);
    }
  }
  for (int s = 0; s < 16; ++s) block[192 + s] = static_cast<uint8_t>(symmetric.scales[s]);
}

}  // namespace hearth
