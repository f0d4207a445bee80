#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cache_dtype.h"
#include "program/program.h"
#include "runtime/aligned_buffer.h"

namespace hearth {

struct CacheOptions {
  CacheDtype dtype;
  /// Positions per block: 16, 32 or 64.
  int32_t block_size;
  int32_t num_blocks;
};

/// Keys and values of all layers in blocks of positions (drawn in docs/shapes.md). A block holds, layer after layer:
///
///   keys    [kv head][head_dim][position in block]    lane = position, for scores
///   values  [kv head][position in block][head_dim rounded up to 8]
///
/// Whoever changes this gives it another name: `layout` in src/kv-cache.ts.
///
/// In q8 a head's scales, f32 [position in block], follow its codes. The padding of values is zero and stays zero. Block
/// indices are checked by every method that takes them.
///
/// Blocks follow each other in one piece of memory, with huge pages where the system has them: what is used stays together
/// and grows with the positions, and attention reads it 1.3 to 1.6 times as fast (fewer TLB misses).
class PagedCache {
 public:
  struct Layer {
    int32_t num_kv_heads;
    int32_t head_dim;
    int32_t padded_head_dim;
    /// Bytes of one head in one block.
    int64_t key_head_bytes;
    int64_t value_head_bytes;
    /// Where block 0 has this layer.
    uint8_t* keys;
    uint8_t* values;
  };

  /// Throws Failure(kInvalidArgument) on options out of range, Failure(kLimitExceeded) when there is no memory.
  PagedCache(const std::vector<CacheLayer>& layers, const CacheOptions& options);

  const CacheOptions& options() const { return options_; }
  const Layer& layer(int32_t index) const { return layers_[static_cast<std::size_t>(index)]; }
  int32_t num_layers() const { return static_cast<int32_t>(layers_.size()); }
  int64_t bytes_per_block() const { return bytes_per_block_; }

  void zero_blocks(const std::vector<int32_t>& blocks);
  void copy_blocks(const std::vector<int32_t>& from, const std::vector<int32_t>& to);
  /// bytes: [blocks][bytes_per_block()], layer after layer, keys before values.
  void read_blocks(const std::vector<int32_t>& blocks, uint8_t* bytes) const;
  void write_blocks(const std::vector<int32_t>& blocks, const uint8_t* bytes);
  /// k, v: f32 [position, kv head, head_dim] of positions 0 .. num_positions - 1.
  void read_layer(int32_t layer, const std::vector<int32_t>& block_table, int64_t num_positions, float* k, float* v) const;

 private:
  /// Of a block whose index was checked.
  uint8_t* block_data(int32_t block) const { return blocks_.data() + block * bytes_per_block_; }
  void check_blocks(const std::vector<int32_t>& blocks) const;

  CacheOptions options_;
  std::vector<Layer> layers_;
  int64_t bytes_per_block_ = 0;
  AlignedBuffer blocks_;
};

}  // namespace hearth
