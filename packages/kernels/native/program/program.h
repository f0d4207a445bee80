#pragma once

// A Program (packages/core/src/program/program.ts) in native form: a flat list of ops over views of arena buffers. Names stay
// in TypeScript, which knows them by the index of the op. Weight ids are indices into the native Weights.

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

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

struct EmbedOp {
  int32_t weight;
  View out;
};
struct RopeTableOp {
  int32_t rope;
  View out;
};
struct RmsNormOp {
  View x;
  int32_t weight;
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
};
struct SiluGateOp {
  View gate;
  View up;
  View out;
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
using Op = std::variant<EmbedOp, RopeTableOp, RmsNormOp, AddRmsNormOp, AddOp, LinearOp, RopeOp, WriteCacheOp, AttentionOp,
                        SiluGateOp, GatherRowsOp, CaptureOp>;

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
