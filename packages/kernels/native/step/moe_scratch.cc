#include "step/moe_scratch.h"

#include <algorithm>

namespace hearth {

MoeScratch::MoeScratch(const Program& program, const Weights& weights, int64_t max_tokens, int64_t max_output_rows) {
  int64_t num_chosen = 0;
  int64_t num_experts = 0;
  int64_t x_floats = 0;
  int64_t gate_up_floats = 0;
  int64_t y_floats = 0;
  int64_t num_blocks = 0;
  for (const Op& any : program.ops) {
    const MoeMlpOp* op = std::get_if<MoeMlpOp>(&any);
    if (op == nullptr) continue;
    const RowKind rows = program.buffers[static_cast<std::size_t>(op->x.buffer)].rows;
    const int64_t capacity = rows == RowKind::tokens ? max_tokens : max_output_rows;
    const int64_t slots = run_slots(*op, capacity);
    const int64_t width = weights.at(op->experts.front().gate).rows;
    num_chosen = std::max(num_chosen, capacity * op->num_experts_per_token);
    num_experts = std::max(num_experts, static_cast<int64_t>(op->experts.size()));
    gate_up_floats = std::max(gate_up_floats, slots * 2 * width);
    y_floats = std::max(y_floats, slots * op->x.width);
    for (const MoeMlpOp::Expert& expert : op->experts) {
      const Tensor& gate = weights.at(expert.gate);
      const Tensor& up = weights.at(expert.up);
      if (!is_quantized(gate.dtype) || !is_quantized(up.dtype)) x_floats = std::max(x_floats, slots * op->x.width);
      if (is_quantized(gate.dtype) || is_quantized(up.dtype)) {
        num_blocks = std::max(num_blocks, (1 + up_set(gate, up)) * slots * (op->x.width / kBlockElements));
      }
      if (is_quantized(weights.at(expert.down).dtype)) num_blocks = std::max(num_blocks, slots * (width / kBlockElements));
    }
  }
  chosen_experts = AlignedArray<int32_t>(num_chosen, "chosen experts");
  chosen_weights = AlignedArray<float>(num_chosen, "chosen experts");
  chosen_slots = AlignedArray<int64_t>(num_chosen, "chosen experts");
  first_slots = AlignedArray<int64_t>(num_experts + 1, "chosen experts");
  slot_rows = AlignedArray<int32_t>(num_chosen, "chosen experts");
  slot_experts = AlignedArray<int32_t>(num_chosen, "chosen experts");
  x = AlignedArray<float>(x_floats, "activations of experts");
  gate_up = AlignedArray<float>(gate_up_floats, "activations of experts");
  y = AlignedArray<float>(y_floats, "activations of experts");
  activations = AlignedArray<ActivationBlock>(num_blocks, "quantized activations");
}

int64_t MoeScratch::run_slots(const MoeMlpOp& op, int64_t capacity) {
  // At least all experts of one row.
  return std::max<int64_t>(capacity, op.num_experts_per_token);
}

int64_t MoeScratch::up_set(const Tensor& gate, const Tensor& up) {
  return is_quantized(gate.dtype) && is_quantized(up.dtype) && gate.column_order != up.column_order ? 1 : 0;
}

}  // namespace hearth
