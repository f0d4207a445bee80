#pragma once

#include <napi.h>

#include <cstdint>

#include "step/row_outputs.h"

namespace hearth {

/// Reads and checks what is asked of `num_rows` output rows into `memory`. `rows` is what src/encode-row-outputs.ts gives:
/// { numbers: Float64Array, tokenIds: Int32Array, biases: Float32Array, masks: Int32Array }. Allocates nothing when it is right.
/// @throws Failure(kInvalidArgument) that names the row and what is wrong with it
void read_row_outputs(const Napi::Value& rows, int64_t num_rows, const RowOutputMemory& memory);

}  // namespace hearth
