#pragma once

// What one variant offers: plain functions over plain pointers. A variant is one folder whose .cc files fill this
// table; dispatch.cc picks a table once, at start. All functions are thread safe and allocate nothing.
//
// Rows are tight f32 vectors of any width; pointers need no alignment beyond that of their type unless a comment says
// so. A function that returns bool writes f32 values (or stores to the cache) and says whether all of them are finite
// (and fit the cache type). What exactly is computed, to the bit, is docs/numerics.md.

#include <cstdint>

#include "kernels/activation_block.h"
#include "kernels/activation_function.h"
#include "kernels/cache_dtype.h"
#include "kernels/dtype.h"
#include "kernels/sampling_params.h"

namespace hearth {

/// Rows [first_tile · 8, last_tile · 8) of out[token] = W · x[token] (+ bias), for tokens [first_token, last_token).
struct LinearTask {
  /// Packed tiles of the whole matrix, 64-byte aligned (packages/core/src/tensor/packed-layout.ts).
  const uint8_t* packed;
  int64_t rows;
  int64_t columns;
  int64_t first_tile;
  int64_t last_tile;
  int64_t first_token;
  int64_t last_token;
  /// Plain weights: [token, columns], rows x_stride floats apart.
  const float* x;
  int64_t x_stride;
  /// Quantized weights: [token, columns / 32].
  const ActivationBlock* x_blocks;
  /// [rows] or null.
  const float* bias;
  /// Element of token 0, row 0; tokens are out_stride floats apart.
  float* out;
  int64_t out_stride;
  /// Tiles that the same thread is likely to multiply after these, to be asked for in time; none where nothing is known.
  const uint8_t* next = nullptr;
  int64_t num_next_tiles = 0;
  int64_t next_tile_bytes = 0;
};

/// The running softmax of one query row over some positions; followed by the value sums o[head_dim rounded up to 8].
struct AttentionStateHeader {
  float max;
  float sum;
  /// 0 until a visible position was met; then everything else is meaningless.
  int32_t started;
  int32_t padding[5];
};
static_assert(sizeof(AttentionStateHeader) == 32, "the value sums that follow stay 32-byte aligned");

/// Floats of one state with its value sums.
static constexpr int64_t attention_state_floats(int64_t padded_head_dim) {
  return static_cast<int64_t>(sizeof(AttentionStateHeader) / sizeof(float)) + padded_head_dim;
}

/// Tokens that one attention task takes at most.
constexpr int kQueryTileTokens = 32;

/// Positions of one softmax tile, and tiles of one group (docs/numerics.md, "attention").
constexpr int kAttentionTile = 64;
constexpr int kAttentionGroup = 8 * kAttentionTile;

/// Where one position of one head goes in its block.
struct CachePlace {
  /// The head's keys and values in the block.
  uint8_t* keys;
  uint8_t* values;
  int64_t head_dim;
  int64_t padded_head_dim;
  int64_t block_size;
  /// Of the position, in the block.
  int64_t offset;
};

/// Causal attention of consecutive tokens of one sequence, for the query heads of one key/value head.
struct AttentionTask {
  /// First token's first query head of this key/value head; heads are head_dim floats apart, tokens q_stride.
  const float* q;
  int64_t q_stride;
  int32_t num_tokens;
  int32_t heads_per_kv;
  int32_t head_dim;
  /// head_dim rounded up to 8: the row length of values in the cache.
  int32_t padded_head_dim;
  float scale;
  /// Scores become softcap · tanh(score / softcap); 0 when they stay as they are.
  float softcap;
  /// Position of the first token; the others follow by one.
  int32_t first_position;
  /// Visible positions including one's own; INT32_MAX when all are.
  int32_t window;

  /// This key/value head's keys in block 0, [head_dim][block_size]: lane = position.
  const uint8_t* keys;
  /// This head's values in block 0, [block_size][padded_head_dim].
  const uint8_t* values;
  /// Bytes between blocks.
  int64_t block_stride;
  const int32_t* blocks;
  int32_t block_size;

  /// Groups [first_group, last_group) of 512 positions are attended to.
  int32_t first_group;
  int32_t last_group;

  /// Whole rows: out[token][head][head_dim]. Null when `states` takes the result instead.
  float* out;
  int64_t out_stride;
  /// One state per row (token-major, then head), state_stride floats apart: the row's state of the one group attended to.
  float* states;
  int64_t state_stride;

  /// attention_scratch_floats(...) floats of this thread, 64-byte aligned.
  float* scratch;

  /// What the same thread is likely to attend to after this, whose first tile is asked for in time; null when unknown.
  const AttentionTask* next;
};

/// Places, and dimensions, of a tile as f32 that lie together (generic/cache_tile.h).
constexpr int64_t kWideSlice = 32;

/// Floats of a tile's values as f32.
static constexpr int64_t wide_value_floats(int64_t padded_head_dim) {
  return kAttentionTile * ((padded_head_dim + kWideSlice - 1) / kWideSlice * kWideSlice);
}

/// Room for what a task notes of each row.
constexpr int64_t kAttentionRowFloats = 12;

/// Floats of scratch that an attention task needs.
static constexpr int64_t attention_scratch_floats(int64_t heads_per_kv, int64_t padded_head_dim) {
  const int64_t rows = kQueryTileTokens * heads_per_kv;
  return kAttentionTile * padded_head_dim + wide_value_floats(padded_head_dim)  // a tile as f32
         + rows * kAttentionTile                                                // probabilities
         + 2 * rows * attention_state_floats(padded_head_dim)                   // states of a group and of all groups so far
         + rows * kAttentionRowFloats;
}

/// log-softmax of one logit and the argmax of its row.
struct RowLogprob {
  float logprob;
  int32_t argmax;
};

/// Memory of a thread that measures peaks: what its loop reads, then where it leaves its results.
constexpr int64_t kPeakInputBytes = 1024;
constexpr int64_t kPeakResultBytes = 512;

struct KernelTable {
  /// out = row `row` of a packed matrix as f32.
  bool (*embed)(Dtype dtype, const uint8_t* packed, int64_t columns, int64_t row, float* out);
  /// out = [cos(position · inv_freq) · scaling, sin(...) · scaling]
  bool (*rope_table)(const float* inv_freq, int64_t num_pairs, float scaling, int32_t position, float* out);
  /// out = x / rms(x) · weight; out may be x.
  bool (*rms_norm)(const float* x, const float* weight, float eps, int64_t width, float* out);
  /// out = (x - mean) / sqrt(variance + eps) · weight + bias; out may be x.
  bool (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, int64_t width, float* out);
  /// residual += delta
  bool (*add)(float* residual, const float* delta, int64_t width);
  /// out = out + factor · x
  bool (*add_scaled)(float* out, const float* x, float factor, int64_t width);
  /// x = x · factor
  bool (*scale)(float* x, float factor, int64_t width);
  /// x = cap · tanh(x / cap)
  bool (*softcap)(float* x, float cap, int64_t width);
  /// Rotates the heads of x in place; table as `rope_table` writes it.
  bool (*rope)(float* x, const float* table, int64_t num_heads, int64_t head_dim, int64_t rotary_dim);
  /// out = function(x), by ActivationFunction; out may be x.
  bool (*activation[kNumActivationFunctions])(const float* x, int64_t width, float* out);
  /// out = function(gate) · up, by ActivationFunction; out may be gate or up.
  bool (*gated_activation[kNumActivationFunctions])(const float* gate, const float* up, int64_t width, float* out);
  /// Ids of the `count` largest logits, ascending, and what each one's expert counts for (generic/experts.h). False when
  /// logits are NaN; the ids are valid all the same.
  bool (*choose_experts)(const float* logits, int64_t num_experts, int64_t count, bool normalize, int32_t* experts, float* weights);
  /// Quantizes num_blocks · 32 activations.
  void (*quantize_row)(const float* x, int64_t num_blocks, ActivationBlock* out);
  /// By weight dtype.
  bool (*linear[kNumDtypes])(const LinearTask& task);

  /// Writes one key head and one value head, [head_dim] each. By CacheDtype.
  bool (*write_cache[kNumCacheDtypes])(const float* k, const float* v, const CachePlace& place);
  /// By CacheDtype.
  bool (*attention[kNumCacheDtypes])(const AttentionTask& task);
  /// Merges the states of consecutive groups of one row, in order, and writes out = o / l.
  /// States are `state_stride` floats apart; the first one is used up.
  bool (*merge_attention)(float* states, int64_t num_groups, int64_t state_stride, int64_t head_dim, float* out);

  RowLogprob (*row_logprob)(const float* logits, int64_t vocab_size, int32_t token_id);
  /// Id of the token, kLogitNotFinite or kNoTokenAllowed. `memory` is that of a SamplingScratch.
  int32_t (*sample)(const float* logits, int64_t vocab_size, const SamplingParams& params, uint8_t* memory);

  // What the processor can do at most (generic/peak.h). `memory`: kPeakInputBytes + kPeakResultBytes, 64-byte aligned.

  /// Dot products of the variant's kind, without what a product needs around them; memory holds codes below 64. Gives the
  /// operations that were done, a multiply-add as two.
  double (*integer_peak)(int64_t rounds, uint8_t* memory);
  /// Multiply-adds of floats; memory holds floats between 1/2 and 1.
  double (*fma_peak)(int64_t rounds, uint8_t* memory);
  /// Read `bytes`, a multiple of 4 · 128, from end to end: as one stream, and as four side by side.
  void (*read_stream)(const uint8_t* data, int64_t bytes, uint8_t* memory);
  void (*read_four_streams)(const uint8_t* data, int64_t bytes, uint8_t* memory);

  // For tests: the elementary functions, n values each.
  void (*exp_values)(const float* x, int64_t n, float* out);
  void (*tanh_values)(const float* x, int64_t n, float* out);
  void (*log_values)(const float* x, int64_t n, float* out);
  void (*sincos_values)(const float* angle, int64_t n, float* sines, float* cosines);
  void (*fma_values)(const float* a, const float* b, const float* c, int64_t n, float* out);
  void (*f16_to_f32)(const uint16_t* x, int64_t n, float* out);
  void (*f32_to_f16)(const float* x, int64_t n, uint16_t* out);
};

}  // namespace hearth
