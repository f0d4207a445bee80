#include "program/check_program.h"

#include <cmath>
#include <limits>

#include "runtime/failure.h"

namespace hearth {
namespace {

/// Head sizes in use are 64 to 256; the limit keeps scratch and products of sizes small.
constexpr int32_t kMostHeadDim = 1024;
constexpr int32_t kMostHeads = 1 << 16;
/// Largest angle that the sine and cosine of docs/numerics.md are made for: 2^20 · pi / 2.
constexpr double kLargestAngle = 1048576 * 1.5707963267948966;

class Checker {
 public:
  Checker(const Program& program, const Weights& weights) : program_(program), weights_(weights) {}

  void check() {
    check_frame();
    for (const Op& op : program_.ops) {
      std::visit([this](const auto& o) { check_op(o); }, op);
      ++op_index_;
    }
  }

 private:
  template <class... Parts>
  void need(bool condition, const Parts&... parts) const {
    require(condition, "Invalid program, op ", op_index_, ": ", parts...);
  }

  const Buffer& buffer(const View& view) const { return program_.buffers[static_cast<std::size_t>(view.buffer)]; }

  void check_frame() {
    require(program_.vocab_size >= 1 && program_.hidden_size >= 1, "Invalid program: vocabulary ", program_.vocab_size,
            " or hidden size ", program_.hidden_size, " is not positive.");
    // Positions are int32, and a tile or group may start just past the last one.
    require(program_.context_length >= 1 && program_.context_length <= std::numeric_limits<int32_t>::max() / 2,
            "Invalid program: the context length is ", program_.context_length, ".");
    for (const Buffer& b : program_.buffers) {
      require(b.width >= 1 && b.offset + b.width <= program_.arena_width[static_cast<std::size_t>(b.rows)],
              "Invalid program: a buffer of width ", b.width, " at ", b.offset, " does not fit its arena.");
    }
    for (const Rope& rope : program_.ropes) {
      require(std::isfinite(rope.attention_scaling), "Invalid program: the attention scaling of a rotary embedding is not finite.");
      for (const float frequency : rope.inv_freq) {
        require(frequency >= 0 && static_cast<double>(frequency) * static_cast<double>(program_.context_length) < kLargestAngle,
                "Invalid program: the rotary frequency ", frequency, " gives angles beyond 2^20 quarter turns.");
      }
    }
    for (const CacheLayer& layer : program_.cache_layers) {
      require(layer.num_kv_heads >= 1 && layer.num_kv_heads <= kMostHeads && layer.head_dim >= 1 && layer.head_dim <= kMostHeadDim,
              "Invalid program: a cache layer has ", layer.num_kv_heads, " heads of ", layer.head_dim, " dimensions.");
      require(layer.group >= 0 && layer.group < static_cast<int32_t>(program_.cache_groups.size()),
              "Invalid program: a cache layer names group ", layer.group, " of ", program_.cache_groups.size(), ".");
    }
    for (const Capture& capture : program_.captures) require(capture.width >= 1, "Invalid program: a capture has no width.");
    check_view(program_.hidden, RowKind::outputs, program_.hidden_size, "hidden");
    check_view(program_.logits, RowKind::outputs, program_.vocab_size, "logits");
  }

  void check_view(const View& view, const char* what) const {
    need(view.buffer >= 0 && view.buffer < static_cast<int32_t>(program_.buffers.size()), what, " names buffer ", view.buffer, " of ",
         program_.buffers.size(), ".");
    need(view.width >= 1 && view.column + view.width <= buffer(view).width, what, " takes columns ", view.column, " to ",
         view.column + view.width, " of a buffer that is ", buffer(view).width, " wide.");
  }
  void check_view(const View& view, RowKind rows, int64_t width, const char* what) const {
    check_view(view, what);
    need(buffer(view).rows == rows, what, " has the wrong kind of rows.");
    need(view.width == width, what, " is ", view.width, " wide, expected ", width, ".");
  }

  bool same(const View& a, const View& b) const { return a.buffer == b.buffer && a.column == b.column && a.width == b.width; }
  bool overlap(const View& a, const View& b) const {
    if (buffer(a).rows != buffer(b).rows) return false;
    if (a.buffer == b.buffer) return a.column < b.column + b.width && b.column < a.column + a.width;
    return buffer(a).offset < buffer(b).offset + buffer(b).width && buffer(b).offset < buffer(a).offset + buffer(a).width;
  }
  void check_disjoint(const View& a, const View& b, const char* what) const { need(!overlap(a, b), what, " overlap."); }
  void check_same_or_disjoint(const View& a, const View& b, const char* what) const {
    need(same(a, b) || !overlap(a, b), what, " overlap without being the same.");
  }

  const Tensor& matrix(int32_t index, int64_t columns) const {
    const Tensor& tensor = weights_.at(index);
    need(tensor.is_matrix && tensor.num_packed_rows == tensor.rows, "weight ", index, " is not a complete matrix.");
    need(tensor.columns == columns, "weight ", index, " has ", tensor.columns, " columns, expected ", columns, ".");
    return tensor;
  }
  void check_matrix(int32_t index, int64_t rows, int64_t columns) const {
    const Tensor& tensor = matrix(index, columns);
    need(tensor.rows == rows, "weight ", index, " has ", tensor.rows, " rows, expected ", rows, ".");
  }
  void check_vector(int32_t index, int64_t length) const {
    const Tensor& tensor = weights_.at(index);
    need(!tensor.is_matrix && tensor.columns == length, "weight ", index, " is not a vector of ", length, ".");
  }
  void check_eps(float eps) const { need(eps >= 0 && std::isfinite(eps), "eps is ", eps, "."); }
  const CacheLayer& layer(int32_t index) const {
    need(index >= 0 && index < static_cast<int32_t>(program_.cache_layers.size()), "there is no cache layer ", index, ".");
    return program_.cache_layers[static_cast<std::size_t>(index)];
  }

  void check_op(const EmbedOp& op) const {
    check_view(op.out, RowKind::tokens, op.out.width, "out");
    const Tensor& table = matrix(op.weight, op.out.width);
    need(table.column_order == nullptr, "weight ", op.weight, " has a column order, which only products know how to read.");
    if (op.ids == EmbedIds::tokens) {
      need(table.rows == program_.vocab_size, "the table has ", table.rows, " rows, expected ", program_.vocab_size, ".");
    } else {
      need(table.rows >= program_.context_length, "the table has ", table.rows, " rows for ", program_.context_length, " positions.");
    }
    need(std::isfinite(op.scale), "scale is not finite.");
  }
  void check_op(const RopeTableOp& op) const {
    need(op.rope >= 0 && op.rope < static_cast<int32_t>(program_.ropes.size()), "there is no rotary embedding ", op.rope, ".");
    check_view(op.out, RowKind::tokens, program_.ropes[static_cast<std::size_t>(op.rope)].rotary_dim, "out");
  }
  void check_op(const RmsNormOp& op) const {
    check_view(op.x, "x");
    check_view(op.out, buffer(op.x).rows, op.x.width, "out");
    check_same_or_disjoint(op.x, op.out, "x and out");
    const int64_t group_width = weights_.at(op.weight).columns;
    check_vector(op.weight, group_width);
    need(op.x.width % group_width == 0, "x is ", op.x.width, " wide, not whole groups of ", group_width, ".");
    check_eps(op.eps);
  }
  void check_op(const LayerNormOp& op) const {
    check_view(op.x, "x");
    check_view(op.out, buffer(op.x).rows, op.x.width, "out");
    check_same_or_disjoint(op.x, op.out, "x and out");
    check_vector(op.weight, op.x.width);
    check_vector(op.bias, op.x.width);
    check_eps(op.eps);
  }
  void check_op(const AddRmsNormOp& op) const {
    check_view(op.residual, "residual");
    check_view(op.delta, buffer(op.residual).rows, op.residual.width, "delta");
    check_view(op.out, buffer(op.residual).rows, op.residual.width, "out");
    check_disjoint(op.residual, op.delta, "residual and delta");
    check_disjoint(op.residual, op.out, "residual and out");
    check_same_or_disjoint(op.delta, op.out, "delta and out");
    check_vector(op.weight, op.residual.width);
    check_eps(op.eps);
  }
  void check_op(const AddOp& op) const {
    check_view(op.residual, "residual");
    check_view(op.delta, buffer(op.residual).rows, op.residual.width, "delta");
    check_same_or_disjoint(op.residual, op.delta, "residual and delta");
  }
  void check_op(const LinearOp& op) const {
    check_view(op.x, "x");
    need(!op.parts.empty(), "it has no matrix.");
    int64_t rows = 0;
    for (const LinearOp::Part& part : op.parts) {
      const Tensor& tensor = matrix(part.weight, op.x.width);
      if (part.bias != kNoBias) check_vector(part.bias, tensor.rows);
      rows += tensor.rows;
    }
    check_view(op.out, buffer(op.x).rows, rows, "out");
    check_disjoint(op.x, op.out, "x and out");
  }
  void check_op(const RopeOp& op) const {
    need(op.head_dim >= 1 && op.rotary_dim >= 2 && op.rotary_dim % 2 == 0 && op.rotary_dim <= op.head_dim, "heads of ", op.head_dim,
         " cannot rotate ", op.rotary_dim, " dimensions.");
    check_view(op.x, "x");
    need(buffer(op.x).rows == RowKind::tokens && op.x.width % op.head_dim == 0, "x is ", op.x.width, " wide, not whole heads of ",
         op.head_dim, ".");
    check_view(op.table, RowKind::tokens, op.rotary_dim, "table");
    check_disjoint(op.x, op.table, "x and table");
  }
  void check_op(const WriteCacheOp& op) const {
    const CacheLayer& cache = layer(op.layer);
    const int64_t width = int64_t{cache.num_kv_heads} * cache.head_dim;
    check_view(op.k, RowKind::tokens, width, "k");
    check_view(op.v, RowKind::tokens, width, "v");
  }
  void check_op(const AttentionOp& op) const {
    const CacheLayer& cache = layer(op.layer);
    need(op.num_heads >= 1 && op.num_heads <= kMostHeads && op.num_heads % cache.num_kv_heads == 0, op.num_heads,
         " heads cannot share ", cache.num_kv_heads, " key/value heads.");
    const int64_t width = int64_t{op.num_heads} * cache.head_dim;
    check_view(op.q, RowKind::tokens, width, "q");
    check_view(op.out, RowKind::tokens, width, "out");
    check_same_or_disjoint(op.q, op.out, "q and out");
    need(std::isfinite(op.scale), "scale is not finite.");
    need(op.window >= 1, "the window is ", op.window, ".");
    need(op.softcap >= 0, "the softcap is ", op.softcap, ".");
  }
  void check_op(const ActivationOp& op) const {
    check_view(op.x, "x");
    check_view(op.out, buffer(op.x).rows, op.x.width, "out");
    check_same_or_disjoint(op.x, op.out, "x and out");
  }
  void check_op(const GatedActivationOp& op) const {
    check_view(op.gate, "gate");
    check_view(op.up, buffer(op.gate).rows, op.gate.width, "up");
    check_view(op.out, buffer(op.gate).rows, op.gate.width, "out");
    check_same_or_disjoint(op.gate, op.out, "gate and out");
    check_same_or_disjoint(op.up, op.out, "up and out");
  }
  void check_op(const SoftcapOp& op) const {
    check_view(op.x, "x");
    need(op.cap > 0, "the softcap is ", op.cap, ".");
  }
  void check_op(const MoeMlpOp& op) const {
    check_view(op.x, "x");
    const RowKind rows = buffer(op.x).rows;
    const int64_t num_experts = static_cast<int64_t>(op.experts.size());
    need(num_experts >= 1, "it has no expert.");
    check_view(op.router_logits, rows, num_experts, "router logits");
    check_view(op.out, rows, op.x.width, "out");
    check_disjoint(op.x, op.out, "x and out");
    check_disjoint(op.router_logits, op.out, "router logits and out");
    need(op.num_experts_per_token >= 1 && op.num_experts_per_token <= num_experts, "it chooses ", op.num_experts_per_token, " of ",
         num_experts, " experts.");
    const int64_t expert_width = matrix(op.experts.front().gate, op.x.width).rows;
    for (const MoeMlpOp::Expert& expert : op.experts) {
      check_matrix(expert.gate, expert_width, op.x.width);
      check_matrix(expert.up, expert_width, op.x.width);
      check_matrix(expert.down, op.x.width, expert_width);
    }
  }
  void check_op(const GatherRowsOp& op) const {
    check_view(op.x, RowKind::tokens, op.x.width, "x");
    check_view(op.out, RowKind::outputs, op.x.width, "out");
  }
  void check_op(const CaptureOp& op) const {
    need(op.capture >= 0 && op.capture < static_cast<int32_t>(program_.captures.size()), "there is no capture ", op.capture, ".");
    const Capture& capture = program_.captures[static_cast<std::size_t>(op.capture)];
    check_view(op.x, capture.rows, capture.width, "x");
  }

  const Program& program_;
  const Weights& weights_;
  int64_t op_index_ = 0;
};

}  // namespace

void check_program(const Program& program, const Weights& weights) { Checker(program, weights).check(); }

}  // namespace hearth
