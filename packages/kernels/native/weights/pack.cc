#include "weights/pack.h"

#include <cstring>

namespace hearth {
namespace {

/// One unit of `bytes` bytes for each field of a block; lane r of a tile lies `bytes` after lane r - 1.
template <int bytes>
inline void put(uint8_t*& tile, const uint8_t*& source, int64_t lane) {
  std::memcpy(tile + lane * bytes, source, bytes);
  tile += bytes * kTileRows;
  source += bytes;
}

/// num_halves f16 values (scale, minimum), then num_groups groups of 4 code bytes.
template <int num_halves, int num_groups>
void pack_quantized_row(const uint8_t* source, int64_t num_blocks, int64_t lane, uint8_t* tile) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int half = 0; half < num_halves; ++half) put<2>(tile, source, lane);
    for (int group = 0; group < num_groups; ++group) put<4>(tile, source, lane);
  }
}

template <int bytes>
void pack_plain_row(const uint8_t* source, int64_t columns, int64_t lane, uint8_t* tile) {
  for (int64_t k = 0; k < columns; ++k) put<bytes>(tile, source, lane);
}

void pack_row(Dtype dtype, int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  const int64_t num_blocks = columns / kBlockElements;
  switch (dtype) {
    case Dtype::f32: return pack_plain_row<4>(source, columns, lane, tile);
    case Dtype::f16:
    case Dtype::bf16: return pack_plain_row<2>(source, columns, lane, tile);
    case Dtype::q8_0: return pack_quantized_row<1, 8>(source, num_blocks, lane, tile);
    case Dtype::q4_0: return pack_quantized_row<1, 4>(source, num_blocks, lane, tile);
    case Dtype::q4_1: return pack_quantized_row<2, 4>(source, num_blocks, lane, tile);
  }
}

}  // namespace

int64_t packed_bytes(Dtype dtype, int64_t rows, int64_t columns) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows * row_bytes(dtype, columns);
}

void pack_rows(Dtype dtype, int64_t columns, const uint8_t* source, int64_t first_row, int64_t num_rows,
               const uint32_t* places, uint8_t* packed) {
  const int64_t bytes_per_row = row_bytes(dtype, columns);
  for (int64_t i = 0; i < num_rows; ++i) {
    const int64_t row = first_row + i;
    const int64_t place = places == nullptr ? row : static_cast<int64_t>(places[row]);
    uint8_t* tile = packed + place / kTileRows * kTileRows * bytes_per_row;
    pack_row(dtype, columns, source + i * bytes_per_row, place % kTileRows, tile);
  }
}

}  // namespace hearth
