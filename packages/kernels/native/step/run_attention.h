#pragma once

#include "step/step_context.h"

namespace hearth {

/// Appends the step's keys and values to the cache, rounded to its type.
void run_write_cache(StepContext& step, const WriteCacheOp& op);

/// Attention of all tokens. Chunks are (up to 32 tokens of a sequence) x (key/value head). When that gives the threads
/// too little to share (decode with a long context), each chunk's groups of 512 positions become chunks too, and are merged in a
/// second phase, in the same order as one thread would.
void run_attention(StepContext& step, const AttentionOp& op);

}  // namespace hearth
