#pragma once

// A Program (packages/core/src/program/program.ts) in native form: a flat list of ops over views of arena buffers. Names stay
// in TypeScript, which knows them by the index of the op. Weight ids are indices into the native Weights.

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/activation_function.h"

namespace hearth {

enum class RowKind : int32_t { tokens = 0, outputs = 1 };
constexpr int kNumRowKinds = 2;

struct Buffer {
  RowKind rows;
  /// Floats per row, and floats per row of its arena before it.
  int64_t width;
  int64_t offset;
};

/// Columns [column, column + width) of a buffer.
struct View {
  int32_t buffer;
  int64_t column;
  int64_t width;
};

struct Rope {
  int64_t rotary_dim;
  float attention_scaling;
  /// [rotary_dim / 2]
  std::vector<float> inv_freq;
};

struct CacheLayer {
  int32_t num_kv_heads;
  int32_t head_dim;
  int32_t group;
};

struct Capture {
  RowKind rows;
  int64_t width;
};

constexpr int32_t kNoBias = -1;

/// What an embed op looks up.
enum class EmbedIds : int32_t { tokens = 0, positions = 1 };

struct EmbedOp {
  int32_t weight;
  EmbedIds ids;
  float scale;
  View out;
};
struct RopeTableOp {
  int32_t rope;
  View out;
};
struct RmsNormOp {
  View x;
  /// Its length is the width of the groups that are normalised by themselves.
  int32_t weight;
  float eps;
  View out;
};
struct LayerNormOp {
  View x;
  int32_t weight;
  int32_t bias;
  float eps;
  View out;
};
struct AddRmsNormOp {
  View residual;
  View delta;
  int32_t weight;
  float eps;
  View out;
};
struct AddOp {
  View residual;
  View delta;
};
struct LinearOp {
  View x;
  View out;
  struct Part {
    int32_t weight;
    /// kNoBias or the index of a vector.
    int32_t bias;
  };
  /// Their outputs lie side by side in `out`.
  std::vector<Part> parts;
};
struct RopeOp {
  View x;
  View table;
  int32_t head_dim;
  int32_t rotary_dim;
};
struct WriteCacheOp {
  int32_t layer;
  View k;
  View v;
};
struct AttentionOp {
  int32_t layer;
  View q;
  View out;
  int32_t num_heads;
  float scale;
  /// INT32_MAX when all positions are visible.
  int32_t window;
  /// 0 when scores are not capped.
  float softcap;
};
struct ActivationOp {
  ActivationFunction function;
  View x;
  View out;
};
struct GatedActivationOp {
  ActivationFunction function;
  View gate;
  View up;
  View out;
};
struct SoftcapOp {
  View x;
  float cap;
};
struct MoeMlpOp {
  View x;
  View router_logits;
  View out;
  ActivationFunction function;
  int32_t num_experts_per_token;
  bool normalize_weights;
  struct Expert {
    int32_t gate;
    int32_t up;
    int32_t down;
  };
  std::vector<Expert> experts;
};
struct GatherRowsOp {
  View x;
  View out;
};
struct CaptureOp {
  View x;
  int32_t capture;
};

/// In the order of the kind numbers of src/encode-program.ts.
using Op = std::variant<EmbedOp, RopeTableOp, RmsNormOp, LayerNormOp, AddRmsNormOp, AddOp, LinearOp, RopeOp, WriteCacheOp,
                        AttentionOp, ActivationOp, GatedActivationOp, SoftcapOp, MoeMlpOp, GatherRowsOp, CaptureOp>;

struct Program {
  int64_t vocab_size;
  int64_t hidden_size;
  int64_t context_length;
  /// Floats per row of each arena, by RowKind.
  std::array<int64_t, kNumRowKinds> arena_width;
  std::vector<Buffer> buffers;
  std::vector<Rope> ropes;
  /// Windows of the cache groups, 0 for none. Ops carry their own window; the groups only select block tables.
  std::vector<int32_t> cache_groups;
  std::vector<CacheLayer> cache_layers;
  std::vector<Capture> captures;
  View hidden;
  View logits;
  std::vector<Op> ops;
};

}  // namespace hearth
