#include "step/batch.h"

#include <cstring>

#include "runtime/failure.h"

namespace hearth {
namespace {

template <class... Parts>
void need(bool condition, const Parts&... parts) {
  require(condition, "Invalid batch: ", parts...);
}

void copy(const Int32Span& from, const AlignedArray<int32_t>& to, int64_t count) {
  // An empty array may have no address, which memcpy must not see.
  if (count > 0) std::memcpy(to.data(), from.data, static_cast<std::size_t>(count) * sizeof(int32_t));
}

}  // namespace

Batch::Batch(const BatchLimits& limits)
    : limits_(limits),
      blocks_per_sequence_((limits.context_length + limits.block_size - 1) / limits.block_size),
      token_ids_(limits.max_tokens, "batch"),
      positions_(limits.max_tokens, "batch"),
      cu_seqlens_q_(limits.max_tokens + 1, "batch"),
      context_lens_(limits.max_tokens, "batch"),
      output_rows_(limits.max_output_rows, "batch") {
  const int64_t table_size = checked_byte_size(limits.max_tokens, blocks_per_sequence_, "block tables");
  for (int32_t group = 0; group < limits.num_groups; ++group) tables_.emplace_back(table_size, "block tables");
}

void Batch::assign(Int32Span token_ids, Int32Span positions, Int32Span cu_seqlens_q, Int32Span context_lens,
                   const std::vector<BlockTableSpan>& tables, Int32Span output_rows) {
  num_tokens_ = token_ids.size;
  num_sequences_ = context_lens.size;
  num_output_rows_ = output_rows.size;
  need(num_tokens_ >= 1 && num_tokens_ <= limits_.max_tokens, "it has ", num_tokens_, " tokens, allowed are 1 to ", limits_.max_tokens, ".");
  need(positions.size == num_tokens_, "positions has ", positions.size, " entries for ", num_tokens_, " tokens.");
  need(num_sequences_ >= 1 && num_sequences_ <= num_tokens_, "it has ", num_sequences_, " sequences for ", num_tokens_, " tokens.");
  need(cu_seqlens_q.size == num_sequences_ + 1, "cuSeqlensQ has ", cu_seqlens_q.size, " entries for ", num_sequences_, " sequences.");
  need(num_output_rows_ <= limits_.max_output_rows, num_output_rows_, " output rows are wanted, the limit is ", limits_.max_output_rows, ".");
  need(static_cast<int64_t>(tables.size()) == limits_.num_groups, "it has ", tables.size(), " block tables for ", limits_.num_groups, " cache groups.");
  copy(token_ids, token_ids_, num_tokens_);
  copy(positions, positions_, num_tokens_);
  copy(cu_seqlens_q, cu_seqlens_q_, num_sequences_ + 1);
  copy(context_lens, context_lens_, num_sequences_);
  copy(output_rows, output_rows_, num_output_rows_);
  for (int64_t s = 0; s < num_sequences_; ++s) {
    const int64_t context = context_lens_[s];
    need(context >= 1 && context <= limits_.context_length, "sequence ", s, " has a context of ", context, ", allowed are 1 to ",
         limits_.context_length, ".");
    const int64_t num_blocks = (context + limits_.block_size - 1) / limits_.block_size;
    for (std::size_t group = 0; group < tables.size(); ++group) {
      const BlockTableSpan& table = tables[group];
      need(table.max_blocks >= num_blocks && table.blocks.size / num_sequences_ == table.max_blocks &&
               table.blocks.size % num_sequences_ == 0,
           "block table ", group, " has ", table.blocks.size, " entries in ", table.max_blocks, " columns for ", num_sequences_,
           " sequences; sequence ", s, " needs ", num_blocks, " columns.");
      std::memcpy(tables_[group].data() + s * blocks_per_sequence_, table.blocks.data + s * table.max_blocks,
                  static_cast<std::size_t>(num_blocks) * sizeof(int32_t));
    }
  }
  check();
}

void Batch::check() const {
  for (int64_t t = 0; t < num_tokens_; ++t) {
    need(token_ids_[t] >= 0 && token_ids_[t] < limits_.vocab_size, "token id ", token_ids_[t], " at ", t, " is outside the vocabulary of ",
         limits_.vocab_size, ".");
  }
  need(cu_seqlens_q_[0] == 0 && cu_seqlens_q_[num_sequences_] == num_tokens_, "cuSeqlensQ must go from 0 to ", num_tokens_, ".");
  for (int64_t s = 0; s < num_sequences_; ++s) {
    const int64_t start = cu_seqlens_q_[s];
    const int64_t end = cu_seqlens_q_[s + 1];
    need(end > start && end <= num_tokens_, "cuSeqlensQ must ascend strictly, sequence ", s, " goes from ", start, " to ", end, ".");
    // From the copy that assign() has sized the tables by.
    const int64_t context = context_lens_[s];
    need(context >= end - start, "sequence ", s, " has a context of ", context, " for ", end - start, " tokens.");
    for (int64_t t = start; t < end; ++t) {
      need(positions_[t] == context - (end - t), "token ", t, " has position ", positions_[t], ", expected ", context - (end - t), ".");
    }
    const int64_t num_blocks = (context + limits_.block_size - 1) / limits_.block_size;
    for (int32_t group = 0; group < limits_.num_groups; ++group) {
      const int32_t* table = blocks(group, s);
      for (int64_t b = 0; b < num_blocks; ++b) {
        need(table[b] >= 0 && table[b] < limits_.num_blocks, "block table ", group, " names block ", table[b], " for sequence ", s,
             "; there are ", limits_.num_blocks, ".");
      }
    }
  }
  for (int64_t r = 0; r < num_output_rows_; ++r) {
    const int32_t row = output_rows_[r];
    need(row >= 0 && row < num_tokens_ && (r == 0 || row > output_rows_[r - 1]), "outputRows must ascend strictly within 0 to ",
         num_tokens_ - 1, ", got ", row, " at ", r, ".");
  }
}

}  // namespace hearth
