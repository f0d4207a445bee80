#include "weights/pack.h"

#include <cstring>

#include "kernels/generic/block_format.h"
#include "weights/canonical_block.h"

namespace hearth {
namespace {

/// `count` fields of `bytes` bytes; lane r of a tile lies `bytes` after lane r - 1.
template <int bytes>
void put_fields(int64_t count, int64_t lane, const uint8_t*& source, uint8_t*& tile) {
  for (int64_t i = 0; i < count; ++i, source += bytes, tile += bytes * kTileRows) std::memcpy(tile + lane * bytes, source, bytes);
}

template <int bytes>
void pack_plain_row(int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  put_fields<bytes>(columns, lane, source, tile);
}

/// The fields of a canonical block, in order. Their numbers are constants, which makes this as fast as memory.
template <Dtype dtype>
void put_block(const uint8_t* canonical, int64_t lane, uint8_t*& tile) {
  if constexpr (dtype == Dtype::f8_e4m3) {
    put_fields<4>(1, lane, canonical, tile);
    put_fields<2>(32, lane, canonical, tile);
  } else {
    constexpr BlockFormat format = block_format(dtype);
    put_fields<2>(format.halves, lane, canonical, tile);
    put_fields<1>(format.scale_bytes, lane, canonical, tile);
    put_fields<4>(format.chunks * format.code_bits, lane, canonical, tile);
  }
}

/// Blocks that are canonical in the file.
template <Dtype dtype>
void pack_blocks(int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  constexpr DtypeInfo kInfo = dtype_info(dtype);
  for (int64_t block = 0; block < columns / kInfo.block_elements; ++block, source += kInfo.block_bytes) {
    put_block<dtype>(source, lane, tile);
  }
}

/// Blocks that are rewritten first.
template <Dtype dtype, Canonicalize to_canonical>
void pack_rewritten(int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile) {
  constexpr DtypeInfo kInfo = dtype_info(dtype);
  for (int64_t block = 0; block < columns / kInfo.block_elements; ++block, source += kInfo.block_bytes) {
    uint8_t canonical[kInfo.packed_block_bytes];
    to_canonical(source, canonical);
    put_block<dtype>(canonical, lane, tile);
  }
}

/// Packs one row into its lane of a tile.
using PackRow = void (*)(int64_t columns, const uint8_t* source, int64_t lane, uint8_t* tile);

PackRow row_packer(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return pack_plain_row<4>;
    case Dtype::f16:
    case Dtype::bf16: return pack_plain_row<2>;
    case Dtype::q8_0: return pack_blocks<Dtype::q8_0>;
    case Dtype::q4_0: return pack_blocks<Dtype::q4_0>;
    case Dtype::q4_1: return pack_blocks<Dtype::q4_1>;
    case Dtype::q5_0: return pack_rewritten<Dtype::q5_0, canonical_q5_0>;
    case Dtype::q5_1: return pack_rewritten<Dtype::q5_1, canonical_q5_1>;
    case Dtype::iq4_nl: return pack_blocks<Dtype::iq4_nl>;
    case Dtype::q2_k: return pack_rewritten<Dtype::q2_k, canonical_q2_k>;
    case Dtype::q3_k: return pack_rewritten<Dtype::q3_k, canonical_q3_k>;
    case Dtype::q4_k: return pack_rewritten<Dtype::q4_k, canonical_q4_k>;
    case Dtype::q5_k: return pack_rewritten<Dtype::q5_k, canonical_q5_k>;
    case Dtype::q6_k: return pack_rewritten<Dtype::q6_k, canonical_q6_k>;
    case Dtype::iq4_xs: return pack_rewritten<Dtype::iq4_xs, canonical_iq4_xs>;
    case Dtype::int4_g32: return pack_rewritten<Dtype::int4_g32, canonical_int4_g32>;
    case Dtype::int4_g128: return pack_rewritten<Dtype::int4_g128, canonical_int4_g128>;
    case Dtype::f8_e4m3: return pack_rewritten<Dtype::f8_e4m3, canonical_f8_e4m3>;
  }
  return nullptr;
}

}  // namespace

int64_t packed_bytes(Dtype dtype, int64_t rows, int64_t columns) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows * packed_row_bytes(dtype, columns);
}

void pack_rows(Dtype dtype, int64_t columns, const uint8_t* source, int64_t first_row, int64_t num_rows,
               const uint32_t* places, uint8_t* packed) {
  const int64_t row_bytes = file_row_bytes(dtype, columns);
  const int64_t tile_bytes = kTileRows * packed_row_bytes(dtype, columns);
  const PackRow pack_row = row_packer(dtype);
  for (int64_t i = 0; i < num_rows; ++i) {
    const int64_t row = first_row + i;
    const int64_t place = places == nullptr ? row : static_cast<int64_t>(places[row]);
    pack_row(columns, source + i * row_bytes, place % kTileRows, packed + place / kTileRows * tile_bytes);
  }
}

}  // namespace hearth
