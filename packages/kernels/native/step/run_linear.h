#pragma once

#include "step/step_context.h"

namespace hearth {

/// out = x · Wᵀ (+ bias) for the matrices of the op: quantizes x once if any of them is quantized, then spreads tiles of
/// rows, and blocks of tokens when there are many, over the threads.
void run_linear(StepContext& step, const LinearOp& op);

}  // namespace hearth
