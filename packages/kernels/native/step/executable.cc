#include "step/executable.h"

#include <algorithm>
#include <utility>

#include "program/check_program.h"
#include "runtime/failure.h"
#include "step/run_linear.h"

namespace hearth {
namespace {

constexpr int64_t kMostTokens = 1 << 20;

/// Tokens in one step up to which attention may spread one row's groups over threads; more give work enough without.
constexpr int64_t kSplitTokens = 8;

ExecutableOptions checked(const ExecutableOptions& options) {
  require(options.max_tokens >= 1 && options.max_tokens <= kMostTokens, "maxTokens must be 1 to ", kMostTokens, ", got ", options.max_tokens, ".");
  require(options.max_output_rows >= 1 && options.max_output_rows <= kMostTokens, "maxOutputRows must be 1 to ", kMostTokens, ", got ",
          options.max_output_rows, ".");
  return options;
}

Program checked(Program program, const Weights& weights) {
  check_program(program, weights);
  return program;
}

BatchLimits batch_limits(const Program& program, const ExecutableOptions& options) {
  BatchLimits limits;
  limits.max_tokens = options.max_tokens;
  limits.max_output_rows = options.max_output_rows;
  limits.vocab_size = program.vocab_size;
  limits.context_length = program.context_length;
  limits.block_size = options.cache.block_size;
  limits.num_blocks = options.cache.num_blocks;
  limits.num_groups = static_cast<int32_t>(program.cache_groups.size());
  return limits;
}

/// Whether the rows of a view are all that its buffer holds, so that they lie side by side in the arena.
bool is_whole_buffer(const View& view, const Buffer& buffer) { return view.column == 0 && view.width == buffer.width; }

bool writes_buffer(const Op& op, int32_t buffer) {
  const auto is = [buffer](const View& view) { return view.buffer == buffer; };
  struct Visitor {
    decltype(is)& same;
    bool operator()(const EmbedOp& o) const { return same(o.out); }
    bool operator()(const RopeTableOp& o) const { return same(o.out); }
    bool operator()(const RmsNormOp& o) const { return same(o.out); }
    bool operator()(const LayerNormOp& o) const { return same(o.out); }
    bool operator()(const AddRmsNormOp& o) const { return same(o.out) || same(o.residual); }
    bool operator()(const AddOp& o) const { return same(o.residual); }
    bool operator()(const LinearOp& o) const { return same(o.out); }
    bool operator()(const RopeOp& o) const { return same(o.x); }
    bool operator()(const WriteCacheOp&) const { return false; }
    bool operator()(const AttentionOp& o) const { return same(o.out); }
    bool operator()(const ActivationOp& o) const { return same(o.out); }
    bool operator()(const GatedActivationOp& o) const { return same(o.out); }
    bool operator()(const SoftcapOp& o) const { return same(o.x); }
    bool operator()(const MoeMlpOp& o) const { return same(o.out); }
    bool operator()(const GatherRowsOp& o) const { return same(o.out); }
    bool operator()(const CaptureOp&) const { return false; }
  };
  return std::visit(Visitor{is}, op);
}

/// Ops up to the last one that writes the hidden rows, the cache or a capture.
int64_t count_ops_for_hidden(const Program& program) {
  for (std::size_t i = program.ops.size(); i > 0; --i) {
    const Op& op = program.ops[i - 1];
    if (std::holds_alternative<WriteCacheOp>(op) || std::holds_alternative<CaptureOp>(op) || writes_buffer(op, program.hidden.buffer)) {
      return static_cast<int64_t>(i);
    }
  }
  return 0;
}

/// Scratch sizes, as the largest need of any op.
struct ScratchSizes {
  int64_t activation_blocks = 0;
  int64_t attention_scratch = 0;
  int64_t attention_states = 0;
};

ScratchSizes scratch_sizes(const Program& program, const Weights& weights, const ExecutableOptions& options) {
  ScratchSizes sizes;
  const int64_t cache_positions = int64_t{options.cache.num_blocks} * options.cache.block_size;
  const int64_t positions = std::min(program.context_length, cache_positions);
  const int64_t groups = (positions + kAttentionGroup - 1) / kAttentionGroup;
  const int64_t split_tokens = std::min(options.max_tokens, kSplitTokens);
  for (const Op& op : program.ops) {
    if (const LinearOp* linear = std::get_if<LinearOp>(&op)) {
      int64_t num_sets = 0;
      for (int64_t part = 0; part < static_cast<int64_t>(linear->parts.size()); ++part) {
        num_sets = std::max(num_sets, activation_set(*linear, weights, part) + 1);
      }
      const RowKind rows = program.buffers[static_cast<std::size_t>(linear->x.buffer)].rows;
      const int64_t capacity = rows == RowKind::tokens ? options.max_tokens : options.max_output_rows;
      sizes.activation_blocks = std::max(sizes.activation_blocks, num_sets * capacity * (linear->x.width / kBlockElements));
    } else if (const AttentionOp* attention = std::get_if<AttentionOp>(&op)) {
      const CacheLayer& layer = program.cache_layers[static_cast<std::size_t>(attention->layer)];
      const int64_t padded = (layer.head_dim + 7) / 8 * 8;
      const int64_t heads_per_kv = attention->num_heads / layer.num_kv_heads;
      sizes.attention_scratch = std::max(sizes.attention_scratch, attention_scratch_floats(heads_per_kv, padded));
      if (groups > 1) {
        const int64_t states = split_tokens * attention->num_heads * groups * attention_state_floats(padded);
        sizes.attention_states = std::max(sizes.attention_states, states);
      }
    }
  }
  // Threads must not share cache lines.
  sizes.attention_scratch = (sizes.attention_scratch + 15) / 16 * 16;
  return sizes;
}

}  // namespace

Executable::Executable(Program unchecked, std::shared_ptr<const Weights> all_weights, const ExecutableOptions& unchecked_options,
                       const KernelTable& kernel_table, int num_threads)
    : program(checked(std::move(unchecked), *all_weights)),
      weights(std::move(all_weights)),
      options(checked(unchecked_options)),
      kernels(kernel_table),
      cache(program.cache_layers, options.cache),
      batch(batch_limits(program, options)),
      op_nanoseconds(static_cast<int64_t>(program.ops.size()), "profile"),
      row_outputs(options.max_output_rows, program.vocab_size, program.context_length, num_threads),
      num_ops_for_hidden(count_ops_for_hidden(program)) {
  constexpr int64_t kFloat = sizeof(float);
  for (const RowKind rows : {RowKind::tokens, RowKind::outputs}) {
    const std::size_t kind = static_cast<std::size_t>(rows);
    const int64_t row_bytes = program.arena_width[kind] * kFloat;
    const int64_t bytes = row_bytes == 0 ? 0 : checked_byte_size(capacity(rows), row_bytes, "activations");
    arenas[kind] = std::make_shared<AlignedBuffer>(bytes, "activations");
  }
  if (!is_whole_buffer(program.logits, buffer(program.logits))) {
    const int64_t bytes = checked_byte_size(options.max_output_rows, program.vocab_size * kFloat, "logits");
    logits_copy = std::make_shared<AlignedBuffer>(bytes, "logits");
  }
  if (!is_whole_buffer(program.hidden, buffer(program.hidden))) {
    const int64_t bytes = checked_byte_size(options.max_output_rows, program.hidden_size * kFloat, "hidden rows");
    hidden_copy = std::make_shared<AlignedBuffer>(bytes, "hidden rows");
  }
  for (const Capture& capture : program.captures) {
    captures.emplace_back(checked_byte_size(capacity(capture.rows), capture.width, "captures"), "captures");
  }
  const ScratchSizes sizes = scratch_sizes(program, *weights, options);
  activations = AlignedArray<ActivationBlock>(sizes.activation_blocks, "quantized activations");
  attention_scratch_stride = sizes.attention_scratch;
  attention_scratch = AlignedArray<float>(sizes.attention_scratch * num_threads, "attention scratch");
  moe = MoeScratch(program, *weights, options.max_tokens, options.max_output_rows);
  attention_states = AlignedArray<float>(sizes.attention_states, "attention scratch");
  // A tile holds at least one token.
  query_tiles.reserve(static_cast<std::size_t>(options.max_tokens));
}

}  // namespace hearth
