#include "cache/paged_cache.h"

#include <cstring>
#include <utility>

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
    Layer layer;
    layer.num_kv_heads = spec.num_kv_heads;
    layer.head_dim = spec.head_dim;
    layer.padded_head_dim = (spec.head_dim + 7) / 8 * 8;
    layer.key_head_bytes = cache_head_bytes(options.dtype, spec.head_dim, size);
    layer.value_head_bytes = cache_head_bytes(options.dtype, layer.padded_head_dim, size);
    layer.key_block_bytes = layer.key_head_bytes * spec.num_kv_heads;
    layer.value_block_bytes = layer.value_head_bytes * spec.num_kv_heads;
    layer.keys = AlignedBuffer(checked_byte_size(options.num_blocks, layer.key_block_bytes, "key cache"), "key cache");
    layer.values = AlignedBuffer(checked_byte_size(options.num_blocks, layer.value_block_bytes, "value cache"), "value cache");
    bytes_per_block_ += layer.key_block_bytes + layer.value_block_bytes;
    layers_.push_back(std::move(layer));
  }
}

void PagedCache::check_blocks(const std::vector<int32_t>& blocks) const {
  for (const int32_t block : blocks) {
    require(block >= 0 && block < options_.num_blocks, "There is no cache block ", block, "; there are ", options_.num_blocks, ".");
  }
}

void PagedCache::zero_blocks(const std::vector<int32_t>& blocks) {
  check_blocks(blocks);
  for (const Layer& layer : layers_) {
    for (const int32_t block : blocks) {
      std::memset(layer.keys.data() + block * layer.key_block_bytes, 0, static_cast<std::size_t>(layer.key_block_bytes));
      std::memset(layer.values.data() + block * layer.value_block_bytes, 0, static_cast<std::size_t>(layer.value_block_bytes));
    }
  }
}

void PagedCache::copy_blocks(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
  check_blocks(from);
  check_blocks(to);
  require(from.size() == to.size(), "Cannot copy ", from.size(), " blocks to ", to.size(), ".");
  const auto copy = [](const AlignedBuffer& buffer, int64_t block_bytes, int32_t source, int32_t target) {
    std::memmove(buffer.data() + target * block_bytes, buffer.data() + source * block_bytes, static_cast<std::size_t>(block_bytes));
  };
  for (const Layer& layer : layers_) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      copy(layer.keys, layer.key_block_bytes, from[i], to[i]);
      copy(layer.values, layer.value_block_bytes, from[i], to[i]);
    }
  }
}

void PagedCache::read_blocks(const std::vector<int32_t>& blocks, uint8_t* bytes) const {
  check_blocks(blocks);
  const auto take = [&bytes](const AlignedBuffer& buffer, int64_t block_bytes, int32_t block) {
    std::memcpy(bytes, buffer.data() + block * block_bytes, static_cast<std::size_t>(block_bytes));
    bytes += block_bytes;
  };
  for (const int32_t block : blocks) {
    for (const Layer& layer : layers_) {
      take(layer.keys, layer.key_block_bytes, block);
      take(layer.values, layer.value_block_bytes, block);
    }
  }
}

void PagedCache::write_blocks(const std::vector<int32_t>& blocks, const uint8_t* bytes) {
  check_blocks(blocks);
  const auto put = [&bytes](const AlignedBuffer& buffer, int64_t block_bytes, int32_t block) {
    std::memcpy(buffer.data() + block * block_bytes, bytes, static_cast<std::size_t>(block_bytes));
    bytes += block_bytes;
  };
  for (const int32_t block : blocks) {
    for (const Layer& layer : layers_) {
      put(layer.keys, layer.key_block_bytes, block);
      put(layer.values, layer.value_block_bytes, block);
    }
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
    const int64_t block = block_table[static_cast<std::size_t>(position / size)];
    const int64_t offset = position % size;
    for (int64_t head = 0; head < at.num_kv_heads; ++head) {
      const uint8_t* keys = at.keys.data() + (block * at.num_kv_heads + head) * at.key_head_bytes;
      const uint8_t* values = at.values.data() + (block * at.num_kv_heads + head) * at.value_head_bytes;
      for (int64_t d = 0; d < at.head_dim; ++d) {
        *k++ = element_at(keys, options_.dtype, at.head_dim * size, d * size + offset, offset);
        *v++ = element_at(values, options_.dtype, at.padded_head_dim * size, offset * at.padded_head_dim + d, offset);
      }
    }
  }
}

}  // namespace hearth
