#include "cache/paged_cache.h"

#include <cstring>

#include "kernels/portable/scalar.h"
#include "runtime/failure.h"

namespace hearth {
namespace {

/// Element `index` of a head's `num_elements` in a block, of the position at `offset`.
float element_at(const uint8_t* head, CacheDtype dtype, int64_t num_elements, int64_t index, int64_t offset) {
  switch (dtype) {
    case CacheDtype::f32:
      return reinterpret_cast<const float*>(head)[index];
    case CacheDtype::f16:
      return scalar::f16_to_f32(reinterpret_cast<const uint16_t*>(head)[index]);
    case CacheDtype::q8:
      return static_cast<float>(reinterpret_cast<const int8_t*>(head)[index]) * reinterpret_cast<const float*>(head + num_elements)[offset];
  }
  return 0.0f;
}

}  // namespace

PagedCache::PagedCache(const std::vector<CacheLayer>& layers, const CacheOptions& options) : options_(options) {
  const int32_t size = options.block_size;
  require(is_cache_dtype(options.dtype), "There is no cache type ", static_cast<int32_t>(options.dtype), ".");
  require(size == 16 || size == 32 || size == 64, "The block size must be 16, 32 or 64, got ", size, ".");
  require(options.num_blocks >= 1, "The cache needs at least one block, got ", options.num_blocks, ".");
  for (const CacheLayer& spec : layers) {
    Layer layer{};
    layer.num_kv_heads = spec.num_kv_heads;
    layer.head_dim = spec.head_dim;
    layer.padded_head_dim = (spec.head_dim + 7) / 8 * 8;
    layer.key_head_bytes = cache_head_bytes(options.dtype, spec.head_dim, size);
    layer.value_head_bytes = cache_head_bytes(options.dtype, layer.padded_head_dim, size);
    bytes_per_block_ += checked_byte_size(spec.num_kv_heads, layer.key_head_bytes + layer.value_head_bytes, "cache");
    layers_.push_back(layer);
  }
  if (bytes_per_block_ == 0) return;
  blocks_ = AlignedBuffer(checked_byte_size(options.num_blocks, bytes_per_block_, "cache"), "cache", HugePages::yes);
  uint8_t* at = blocks_.data();
  for (Layer& layer : layers_) {
    layer.keys = at;
    layer.values = at + layer.num_kv_heads * layer.key_head_bytes;
    at = layer.values + layer.num_kv_heads * layer.value_head_bytes;
  }
}

void PagedCache::check_blocks(const std::vector<int32_t>& blocks) const {
  for (const int32_t block : blocks) {
    require(block >= 0 && block < options_.num_blocks, "There is no cache block ", block, "; there are ", options_.num_blocks, ".");
  }
}

void PagedCache::zero_blocks(const std::vector<int32_t>& blocks) {
  check_blocks(blocks);
  for (const int32_t block : blocks) std::memset(block_data(block), 0, static_cast<std::size_t>(bytes_per_block_));
}

void PagedCache::copy_blocks(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
  check_blocks(from);
  check_blocks(to);
  require(from.size() == to.size(), "Cannot copy ", from.size(), " blocks to ", to.size(), ".");
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memmove(block_data(to[i]), block_data(from[i]), static_cast<std::size_t>(bytes_per_block_));
  }
}

void PagedCache::read_blocks(const std::vector<int32_t>& blocks, uint8_t* bytes) const {
  check_blocks(blocks);
  for (const int32_t block : blocks) {
    std::memcpy(bytes, block_data(block), static_cast<std::size_t>(bytes_per_block_));
    bytes += bytes_per_block_;
  }
}

void PagedCache::write_blocks(const std::vector<int32_t>& blocks, const uint8_t* bytes) {
  check_blocks(blocks);
  for (const int32_t block : blocks) {
    std::memcpy(block_data(block), bytes, static_cast<std::size_t>(bytes_per_block_));
    bytes += bytes_per_block_;
  }
}

void PagedCache::read_layer(int32_t index, const std::vector<int32_t>& block_table, int64_t num_positions, float* k, float* v) const {
  require(index >= 0 && index < num_layers(), "There is no cache layer ", index, "; there are ", num_layers(), ".");
  check_blocks(block_table);
  const int64_t size = options_.block_size;
  require(num_positions >= 0 && num_positions <= static_cast<int64_t>(block_table.size()) * size, block_table.size(),
          " blocks do not hold ", num_positions, " positions.");
  const Layer& at = layer(index);
  for (int64_t position = 0; position < num_positions; ++position) {
    const int64_t block_offset = block_table[static_cast<std::size_t>(position / size)] * bytes_per_block_;
    const int64_t offset = position % size;
    for (int64_t head = 0; head < at.num_kv_heads; ++head) {
      const uint8_t* keys = at.keys + block_offset + head * at.key_head_bytes;
      const uint8_t* values = at.values + block_offset + head * at.value_head_bytes;
      for (int64_t d = 0; d < at.head_dim; ++d) {
        *k++ = element_at(keys, options_.dtype, at.head_dim * size, d * size + offset, offset);
        *v++ = element_at(values, options_.dtype, at.padded_head_dim * size, offset * at.padded_head_dim + d, offset);
      }
    }
  }
}

}  // namespace hearth
