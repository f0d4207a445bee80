#pragma once

#include "step/step_context.h"

namespace hearth {

constexpr int64_t kNoActivationSet = -1;

/// Where part `part` of the op finds its quantized activations: set i, of [rows, x.width / 32] blocks, is x in the column order
/// of part i. Parts of equal orders share the set of the first of them. kNoActivationSet when it wants none.
int64_t activation_set(const LinearOp& op, const Weights& weights, int64_t part);

/// out = x · Wᵀ (+ bias) for the matrices of the op: quantizes x once for each column order among its quantized matrices, then
/// spreads tiles of rows, and blocks of tokens when there are many, over the threads.
void run_linear(StepContext& step, const LinearOp& op);

}  // namespace hearth
