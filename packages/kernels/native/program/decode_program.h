#pragma once

#include <cstdint>

#include "program/program.h"

namespace hearth {

/// Reads a Program from the words that src/encode-program.ts writes. Checks the form only (every count against the words that
/// are there, every enum); what the numbers mean is checked by check_program(). Throws Failure(kInvalidArgument).
Program decode_program(const int32_t* words, int64_t num_words);

}  // namespace hearth
