#pragma once

#include <cstdint>
#include <vector>

#include "runtime/aligned_buffer.h"

namespace hearth {

struct BatchLimits {
  int64_t max_tokens;
  int64_t max_output_rows;
  int64_t vocab_size;
  int64_t context_length;
  int32_t block_size;
  int32_t num_blocks;
  int32_t num_groups;
};

/// Int32 arrays that belong to somebody else.
struct Int32Span {
  const int32_t* data;
  int64_t size;
};

/// Block table of one cache group, [sequences, max_blocks].
struct BlockTableSpan {
  Int32Span blocks;
  int64_t max_blocks;
};

/// The batch of the running step (packages/core/src/program/batch.ts), in memory that is allocated once. JavaScript's arrays
/// are copied first and checked afterwards, so nothing that happens to them later can matter.
class Batch {
 public:
  explicit Batch(const BatchLimits& limits);

  /// Takes a batch over. Throws Failure(kInvalidArgument) and leaves an unusable batch when it is malformed.
  void assign(Int32Span token_ids, Int32Span positions, Int32Span cu_seqlens_q, Int32Span context_lens,
              const std::vector<BlockTableSpan>& tables, Int32Span output_rows);

  int64_t num_tokens() const { return num_tokens_; }
  int64_t num_sequences() const { return num_sequences_; }
  int64_t num_output_rows() const { return num_output_rows_; }
  const int32_t* token_ids() const { return token_ids_.data(); }
  const int32_t* positions() const { return positions_.data(); }
  const int32_t* output_rows() const { return output_rows_.data(); }
  int32_t first_token(int64_t sequence) const { return cu_seqlens_q_[sequence]; }
  int32_t context_len(int64_t sequence) const { return context_lens_[sequence]; }
  /// Blocks of a sequence in a group: as many as its context needs.
  const int32_t* blocks(int32_t group, int64_t sequence) const {
    return tables_[static_cast<std::size_t>(group)].data() + sequence * blocks_per_sequence_;
  }

 private:
  void check() const;

  BatchLimits limits_;
  /// Most blocks that a sequence can have.
  int64_t blocks_per_sequence_;
  int64_t num_tokens_ = 0;
  int64_t num_sequences_ = 0;
  int64_t num_output_rows_ = 0;
  AlignedArray<int32_t> token_ids_;
  AlignedArray<int32_t> positions_;
  AlignedArray<int32_t> cu_seqlens_q_;
  AlignedArray<int32_t> context_lens_;
  AlignedArray<int32_t> output_rows_;
  /// By group: [max_tokens, blocks_per_sequence_]; pages are touched only where sequences are.
  std::vector<AlignedArray<int32_t>> tables_;
};

}  // namespace hearth
