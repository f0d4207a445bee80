#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "weights/weights.h"

namespace hearth {

// A packed file holds packed weights as they are in memory, so that the next load of the same model maps them. This writes
// the bytes of the tensors; what stands before them (a header, a key) is JavaScript's: src/packed-file/.

/// Throws Failure unless the file can hold complete weights at these offsets: one for each tensor, on cache lines, ascending,
/// without overlap, and within file_bytes.
void check_packed_layout(const Weights& weights, const std::vector<int64_t>& offsets, int64_t file_bytes);

/// Makes the file and writes all tensors, with zeros where there is none. The layout was checked; the weights must not change
/// meanwhile. Throws Failure(kAborted) soon after `cancelled` is set, and Failure(kLimitExceeded) when the disk is full; what
/// was written until then is left to the caller.
void write_packed_file(const std::string& path, const Weights& weights, const std::vector<int64_t>& offsets, int64_t file_bytes,
                       const std::atomic<bool>& cancelled);

}  // namespace hearth
