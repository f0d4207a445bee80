// Writing to the cache and attention over it: head sizes, cache types, block sizes, windows, softcaps, and contexts of
// several groups of 512 positions.

#include <algorithm>
#include <string>
#include <vector>

#include "variants/comparison.h"
#include "variants/inputs.h"

namespace hearth {
namespace {

struct Shape {
  int32_t head_dim;
  int32_t heads_per_kv;
  int32_t num_tokens;
  int32_t first_position;
  int32_t block_size;
  /// 0 for none.
  int32_t window;
  float softcap;
};

constexpr Shape kShapes[] = {
    // One token: decode, with heads that share keys in every number that register blocks know.
    {64, 1, 1, 0, 16, 0, 0.0f},
    {64, 3, 1, 7, 16, 0, 0.0f},
    {64, 3, 1, 1100, 64, 0, 0.0f},
    {64, 9, 1, 200, 32, 0, 0.0f},
    {128, 4, 1, 63, 64, 0, 0.0f},
    {128, 7, 1, 600, 16, 0, 0.0f},
    {128, 8, 1, 64, 32, 0, 0.0f},
    {80, 2, 1, 130, 64, 0, 0.0f},
    {72, 5, 1, 511, 32, 0, 0.0f},
    {96, 6, 1, 512, 64, 0, 0.0f},
    {256, 2, 1, 300, 64, 0, 0.0f},
    {40, 4, 1, 99, 16, 0, 0.0f},
    {8, 1, 1, 513, 16, 0, 0.0f},
    {33, 2, 1, 90, 32, 0, 0.0f},
    {7, 3, 1, 15, 16, 0, 0.0f},
    // Prompts: tiles of up to 32 tokens.
    {64, 3, 32, 64, 16, 0, 0.0f},
    {128, 4, 31, 490, 64, 0, 0.0f},
    {80, 1, 29, 3, 32, 0, 0.0f},
    {96, 2, 32, 500, 32, 40, 10.0f},
    {64, 3, 16, 0, 64, 0, 0.0f},
    {64, 1, 5, 60, 16, 0, 0.0f},
    {128, 2, 9, 505, 32, 0, 0.0f},
    {80, 4, 16, 120, 64, 0, 0.0f},
    {72, 1, 13, 50, 16, 0, 0.0f},
    {96, 3, 3, 126, 32, 0, 0.0f},
    {256, 1, 16, 40, 64, 0, 0.0f},
    {40, 5, 7, 11, 32, 0, 0.0f},
    {8, 2, 16, 1000, 64, 0, 0.0f},
    {17, 3, 6, 30, 16, 0, 0.0f},
    // Windows and softcaps.
    {64, 3, 1, 700, 64, 100, 0.0f},
    {128, 2, 16, 600, 32, 17, 0.0f},
    {40, 4, 11, 70, 16, 1, 0.0f},
    {256, 2, 1, 180, 64, 128, 50.0f},
    {64, 4, 9, 130, 32, 0, 30.0f},
    {80, 2, 1, 65, 16, 0, 0.5f},
    {96, 2, 16, 520, 64, 513, 3.0f},
};

std::string text_of_shape(const Shape& s) {
  return text_of(s.heads_per_kv, " heads of ", s.head_dim, ", ", s.num_tokens, " tokens from ", s.first_position, ", blocks of ",
                 s.block_size, ", window ", s.window, ", softcap ", s.softcap);
}

const char* const kDtypeNames[kNumCacheDtypes] = {"f32", "f16", "q8"};

int64_t padded(int64_t head_dim) { return (head_dim + 7) / 8 * 8; }

/// Keys and values of one key/value head, in blocks that do not lie in order.
class Cache {
 public:
  Cache(CacheDtype dtype, const Shape& shape, Random& random)
      : key_bytes_(cache_head_bytes(dtype, shape.head_dim, shape.block_size)),
        block_bytes_(key_bytes_ + cache_head_bytes(dtype, padded(shape.head_dim), shape.block_size)) {
    const int32_t num_positions = shape.first_position + shape.num_tokens;
    const int32_t num_blocks = (num_positions + shape.block_size - 1) / shape.block_size;
    // In floats, for their alignment; zeroed, as blocks are when they are handed out.
    memory_.resize(static_cast<std::size_t>(num_blocks * block_bytes_ / 4));
    for (int32_t i = 0; i < num_blocks; ++i) blocks_.push_back(i);
    for (std::size_t i = blocks_.size(); i > 1; --i) std::swap(blocks_[i - 1], blocks_[static_cast<std::size_t>(random.below(static_cast<int32_t>(i)))]);
    const KernelTable& portable = choose_variant("portable").kernels();
    for (int32_t position = 0; position < num_positions; ++position) {
      const std::vector<float> k = random_floats(random, shape.head_dim, 1.5f), v = random_floats(random, shape.head_dim, 1.5f);
      const int32_t index = blocks_[static_cast<std::size_t>(position / shape.block_size)];
      uint8_t* block = reinterpret_cast<uint8_t*>(memory_.data()) + index * block_bytes_;
      CachePlace place{};
      place.keys = block;
      place.values = block + key_bytes_;
      place.head_dim = shape.head_dim;
      place.padded_head_dim = padded(shape.head_dim);
      place.block_size = shape.block_size;
      place.offset = position % shape.block_size;
      portable.write_cache[static_cast<int>(dtype)](k.data(), v.data(), place);
    }
  }

  const uint8_t* keys() const { return reinterpret_cast<const uint8_t*>(memory_.data()); }
  const uint8_t* values() const { return keys() + key_bytes_; }
  int64_t block_bytes() const { return block_bytes_; }
  const int32_t* blocks() const { return blocks_.data(); }

 private:
  int64_t key_bytes_;
  int64_t block_bytes_;
  std::vector<float> memory_;
  std::vector<int32_t> blocks_;
};

AttentionTask task_for(const Shape& shape, const Cache& cache, const std::vector<float>& q, Results& r) {
  AttentionTask task{};
  task.q = q.data();
  task.q_stride = int64_t{shape.heads_per_kv} * shape.head_dim + 3;
  task.num_tokens = shape.num_tokens;
  task.heads_per_kv = shape.heads_per_kv;
  task.head_dim = shape.head_dim;
  task.padded_head_dim = static_cast<int32_t>(padded(shape.head_dim));
  task.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  task.softcap = shape.softcap;
  task.first_position = shape.first_position;
  task.window = shape.window == 0 ? INT32_MAX : shape.window;
  task.keys = cache.keys();
  task.values = cache.values();
  task.block_stride = cache.block_bytes();
  task.blocks = cache.blocks();
  task.block_size = shape.block_size;
  task.first_group = 0;
  task.last_group = (shape.first_position + shape.num_tokens - 1) / kAttentionGroup + 1;
  task.out_stride = task.q_stride + 2;
  task.out = r.floats("out", shape.num_tokens * task.out_stride);
  return task;
}

std::vector<float> random_queries(const Shape& shape, Random& random) {
  return random_floats(random, shape.num_tokens * (int64_t{shape.heads_per_kv} * shape.head_dim + 3), 2.0f);
}

void compare_whole(Comparison& comparison, int dtype) {
  comparison.start(text_of("attention ", kDtypeNames[dtype]), &KernelTable::attention, dtype);
  Random random(50 + static_cast<uint64_t>(dtype));
  for (const Shape& shape : kShapes) {
    const Cache cache(static_cast<CacheDtype>(dtype), shape, random);
    const std::vector<float> q = random_queries(shape, random);
    comparison.compare(text_of_shape(shape), [&](const KernelTable& k, Results& r) {
      AttentionTask task = task_for(shape, cache, q, r);
      Results scratch;
      task.scratch = scratch.floats("scratch", attention_scratch_floats(shape.heads_per_kv, task.padded_head_dim));
      r.add_flag("is finite", k.attention[dtype](task));
    });
  }
}

/// Every group by itself, then merged.
void compare_merge(Comparison& comparison) {
  comparison.start("merge_attention", &KernelTable::merge_attention);
  Random random(60);
  for (const Shape& shape : kShapes) {
    const Cache cache(CacheDtype::f16, shape, random);
    const std::vector<float> q = random_queries(shape, random);
    comparison.compare(text_of_shape(shape), [&](const KernelTable& k, Results& r) {
      AttentionTask task = task_for(shape, cache, q, r);
      Results scratch;
      task.scratch = scratch.floats("scratch", attention_scratch_floats(shape.heads_per_kv, task.padded_head_dim));
      const int64_t num_groups = task.last_group;
      const int64_t state_floats = attention_state_floats(task.padded_head_dim);
      task.state_stride = num_groups * state_floats;
      float* states = scratch.floats("states", shape.num_tokens * shape.heads_per_kv * task.state_stride);
      float* out = task.out;
      task.out = nullptr;
      for (int32_t group = 0; group < num_groups; ++group) {
        task.first_group = group;
        task.last_group = group + 1;
        task.states = states + group * state_floats;
        k.attention[static_cast<int>(CacheDtype::f16)](task);
      }
      bool finite = true;
      for (int64_t row = 0; row < int64_t{shape.num_tokens} * shape.heads_per_kv; ++row) {
        float* to = out + row / shape.heads_per_kv * task.out_stride + row % shape.heads_per_kv * shape.head_dim;
        finite &= k.merge_attention(states + row * task.state_stride, num_groups, state_floats, shape.head_dim, to);
      }
      r.add_flag("is finite", finite);
    });
  }
}

void compare_write_cache(Comparison& comparison, int dtype) {
  comparison.start(text_of("write_cache ", kDtypeNames[dtype]), &KernelTable::write_cache, dtype);
  Random random(70 + static_cast<uint64_t>(dtype));
  for (const int64_t head_dim : {1, 7, 8, 33, 40, 64, 72, 80, 96, 128, 256}) {
    for (const int64_t block_size : {16, 32, 64}) {
      for (int round = 0; round < 5; ++round) {
        std::vector<float> k = awkward_floats(random, head_dim), v = awkward_floats(random, head_dim);
        // Around the largest half, and past it; then values whose scale overflows, and that are no numbers.
        float& of_k = k[static_cast<std::size_t>(random.below(static_cast<int32_t>(head_dim)))];
        float& of_v = v[static_cast<std::size_t>(random.below(static_cast<int32_t>(head_dim)))];
        if (round == 1) of_k = 65519.996f;
        if (round == 2) of_v = -65520.0f;
        if (round == 3) of_v = 3.4028235e38f;
        if (round == 4) of_k = NAN;
        comparison.compare(text_of("heads of ", head_dim, ", blocks of ", block_size, ", round ", round),
                           [&](const KernelTable& table, Results& r) {
                             const auto room = [&](const char* name, int64_t dim) {
                               return reinterpret_cast<uint8_t*>(r.bytes(name, cache_head_bytes(static_cast<CacheDtype>(dtype), dim, block_size)));
                             };
                             const CachePlace place{room("key bytes", head_dim), room("value bytes", padded(head_dim)), head_dim,
                                                    padded(head_dim), block_size, 3};
                             r.add_flag("fits", table.write_cache[dtype](k.data(), v.data(), place));
                           });
      }
    }
  }
}

}  // namespace

void compare_attention(Comparison& comparison) {
  for (int dtype = 0; dtype < kNumCacheDtypes; ++dtype) compare_write_cache(comparison, dtype);
  for (int dtype = 0; dtype < kNumCacheDtypes; ++dtype) compare_whole(comparison, dtype);
  compare_merge(comparison);
}

}  // namespace hearth
