#pragma once

#include <napi.h>

#include <cstdint>

#include "kernels/sampling_params.h"

namespace hearth {

/// Numbers of each row of `rows`, as packages/kernels/src/encode-sample-rows.ts writes them.
constexpr int64_t kSampleRowNumbers = 8;

/// Reads and checks the sampling parameters of `num_rows` output rows. Allocates nothing when they are right.
/// @throws Failure(kInvalidArgument) that names the row and what is wrong with it
void read_sample_rows(const Napi::Value& rows, int64_t num_rows, SamplingParams* params);

}  // namespace hearth
