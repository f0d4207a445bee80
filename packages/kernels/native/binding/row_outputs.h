#pragma once

#include <napi.h>

#include <cstdint>

#include "step/row_outputs.h"

namespace hearth {

/// Numbers of each row of `rows`, as packages/kernels/src/encode-row-outputs.ts writes them.
constexpr int64_t kRowOutputNumbers = 9;

/// Reads and checks what is asked of `num_rows` output rows. Allocates nothing when it is right.
/// @throws Failure(kInvalidArgument) that names the row and what is wrong with it
void read_row_outputs(const Napi::Value& rows, int64_t num_rows, int64_t vocab_size, RowOutput* wanted);

}  // namespace hearth
