#pragma once

#include <cstdint>

#include "kernels/activation_block.h"
#include "program/program.h"
#include "runtime/aligned_buffer.h"
#include "weights/weights.h"

namespace hearth {

/// Memory of the moe-mlp op at hand, as large as any op of the program needs it.
///
/// A *slot* is one row at one of its experts. Slots are ordered by expert, then row, so the rows of an expert lie side by side.
/// Experts are computed in runs of neighbours that together have at most `run_slots` slots: a decode step is one run, and a
/// prefill takes no more memory than a dense MLP of the same width.
struct MoeScratch {
  MoeScratch() = default;
  MoeScratch(const Program& program, const Weights& weights, int64_t max_tokens, int64_t max_output_rows);

  /// Slots of a run, for an op over at most `capacity` rows: the rows may all go to one expert.
  static int64_t run_slots(const MoeMlpOp& op, int64_t capacity);

  /// 1 when the columns of an expert's up matrix are packed in another order than those of its gate, so that it needs a
  /// quantization of x for itself; else 0.
  static int64_t up_set(const Tensor& gate, const Tensor& up);

  // By row and choice, [rows, experts per token], in ascending expert id.
  AlignedArray<int32_t> chosen_experts;
  AlignedArray<float> chosen_weights;
  AlignedArray<int64_t> chosen_slots;

  /// First slot of each expert, and the number of all slots: [experts + 1].
  AlignedArray<int64_t> first_slots;
  // By slot.
  AlignedArray<int32_t> slot_rows;
  AlignedArray<int32_t> slot_experts;

  // By slot of the run.
  /// [slots, hidden], for experts of plain weights.
  AlignedArray<float> x;
  /// [slots, gate and up of the expert's width side by side]
  AlignedArray<float> gate_up;
  /// [slots, hidden]
  AlignedArray<float> y;
  /// Quantized rows of x, later of the activated gate: [sets, slots, columns / 32]. Gates read set 0, ups what up_set() says.
  AlignedArray<ActivationBlock> activations;
};

}  // namespace hearth
