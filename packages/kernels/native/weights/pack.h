#pragma once

#include <cstdint>

#include "kernels/dtype.h"

namespace hearth {

/// Bytes of a packed matrix: whole tiles of 8 rows.
int64_t packed_bytes(Dtype dtype, int64_t rows, int64_t columns);

/// Interleaves rows of a file into the tiles of a packed matrix (packages/core/src/tensor/packed-layout.ts, whose
/// packMatrix is the oracle of this). Different rows write different bytes, so several threads may pack at once.
///
/// source: row `first_row` of the matrix as in the file, row-major, num_rows · file_row_bytes(dtype, columns) bytes
/// places:  row i of the file becomes packed row places[i]; null for the same order
/// packed:  zeroed memory of packed_bytes(...); rows past the matrix stay zero
///
/// Throws Failure(kInvalidModel) when a block holds something that its type does not have (canonical_block.h).
void pack_rows(Dtype dtype, int64_t columns, const uint8_t* source, int64_t first_row, int64_t num_rows,
               const uint32_t* places, uint8_t* packed);

}  // namespace hearth
