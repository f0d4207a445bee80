#pragma once

#include "program/program.h"
#include "weights/weights.h"

namespace hearth {

/// Checks everything that running the program relies on: that every view lies within its buffer and every buffer within its
/// arena, that widths agree with each other and with the weights, that ids name something, that no op reads what it is
/// writing. After this, ops run without looking. Throws Failure(kInvalidArgument) that names the op by its index.
void check_program(const Program& program, const Weights& weights);

}  // namespace hearth
