#include "weights/pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/generic/block_format.h"
#include "weights/canonical_block.h"

namespace hearth {
namespace {

/// Fields of one size that follow each other in a block.
struct Fields {
  int32_t bytes;
  int64_t count;
};

/// The fields of a canonical block, in order. Each is interleaved with that of the other rows of its tile.
std::array<Fields, 3> block_fields(Dtype dtype) {
  if (dtype == Dtype::f8_e4m3) return {{{4, 1}, {2, 32}, {0, 0}}};
  const BlockFormat& format = block_format(dtype);
  return {{{2, format.halves}, {1, format.scale_bytes}, {4, format.chunks * format.code_bits}}};
}

/// `count` fields of `bytes` bytes; lane r of a tile lies `bytes` after lane r - 1.
template <int bytes>
void put_fields(int64_t count, int64_t lane, const uint8_t*& source, uint8_t*& tile) {
  for (int64_t i = 0; i < count; ++i, source += bytes, tile += bytes * kTileRows) std::memcpy(tile + lane * bytes, source, bytes);
}

void put_fields(const Fields& fields, int64_t lane, const uint8_t*& source, uint8_t*& tile) {
  switch (fields.bytes) {
    case 1: return put_fields<1>(fields.count, lane, source, tile);
    case 2: return put_fields<2>(fields.count, lane, source, tile);
    case 4: return put_fields<4>(fields.count, lane, source, tile);
  }
}

constexpr int32_t most_packed_block_bytes() {
  int32_t most = 0;
  for (const DtypeInfo& info : kDtypes) most = std::max(most, info.packed_block_bytes);
  return most;
}

void pack_plain_row(Dtype dtype, int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  put_fields({dtype_info(dtype).block_bytes, columns}, lane, source, tile);
}

void pack_blocks(Dtype dtype, int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  const DtypeInfo& info = dtype_info(dtype);
  const std::array<Fields, 3> fields = block_fields(dtype);
  const Canonicalize to_canonical = canonicalize(dtype);
  uint8_t buffer[most_packed_block_bytes()];
  for (int64_t block = 0; block < columns / info.block_elements; ++block, source += info.block_bytes) {
    const uint8_t* canonical = source;
    if (to_canonical != nullptr) {
      to_canonical(source, buffer);
      canonical = buffer;
    }
    for (const Fields& run : fields) put_fields(run, lane, canonical, tile);
  }
}

}  // namespace

int64_t packed_bytes(Dtype dtype, int64_t rows, int64_t columns) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows * packed_row_bytes(dtype, columns);
}

void pack_rows(Dtype dtype, int64_t columns, const uint8_t* source, int64_t first_row, int64_t num_rows,
               const uint32_t* places, uint8_t* packed) {
  const int64_t row_bytes = file_row_bytes(dtype, columns);
  const int64_t tile_bytes = kTileRows * packed_row_bytes(dtype, columns);
  const auto pack_row = dtype_info(dtype).block_elements == 1 ? pack_plain_row : pack_blocks;
  for (int64_t i = 0; i < num_rows; ++i) {
    const int64_t row = first_row + i;
    const int64_t place = places == nullptr ? row : static_cast<int64_t>(places[row]);
    pack_row(dtype, columns, source + i * row_bytes, place % kTileRows, packed + place / kTileRows * tile_bytes);
  }
}

}  // namespace hearth
