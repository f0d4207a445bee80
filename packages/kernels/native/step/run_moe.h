#pragma once

#include "step/step_context.h"

namespace hearth {

/// A mixture of gated MLPs: chooses each row's experts, then computes expert by expert, in ascending id, all rows that chose
/// it; threads share the rows of the experts' matrices (and blocks of their tokens).
void run_moe(StepContext& step, const MoeMlpOp& op);

}  // namespace hearth
