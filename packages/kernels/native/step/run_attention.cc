#include "step/run_attention.h"

#include <algorithm>
#include <optional>

namespace hearth {
namespace {

/// Below this many chunks per thread, groups are spread as well.
constexpr int64_t kFewChunksPerThread = 4;

/// What the chunks of one attention op share.
struct Attention {
  const AttentionOp& op;
  const PagedCache::Layer& layer;
  int32_t cache_group;
  int32_t heads_per_kv;

  Attention(const Executable& x, const AttentionOp& o)
      : op(o),
        layer(x.cache.layer(o.layer)),
        cache_group(x.program.cache_layers[static_cast<std::size_t>(o.layer)].group),
        heads_per_kv(o.num_heads / layer.num_kv_heads) {}

  int64_t state_floats() const { return attention_state_floats(layer.padded_head_dim); }
};

/// Groups of 512 positions up to the last token of a tile.
int32_t num_groups(const Executable& x, const QueryTile& tile) {
  const int32_t last_position = x.batch.positions()[tile.first_token + tile.num_tokens - 1];
  return last_position / kAttentionGroup + 1;
}

/// A task for groups of one tile and key/value head, without its scratch and destination.
AttentionTask make_task(const Executable& x, const Attention& attention, const QueryTile& tile, int64_t kv_head, int32_t first_group,
                        int32_t last_group) {
  const AttentionOp& op = attention.op;
  const PagedCache::Layer& layer = attention.layer;
  AttentionTask task{};
  task.q = x.row(op.q, tile.first_token) + kv_head * attention.heads_per_kv * layer.head_dim;
  task.q_stride = x.stride(op.q);
  task.num_tokens = tile.num_tokens;
  task.heads_per_kv = attention.heads_per_kv;
  task.head_dim = layer.head_dim;
  task.padded_head_dim = layer.padded_head_dim;
  task.scale = op.scale;
  task.softcap = op.softcap;
  task.first_position = x.batch.positions()[tile.first_token];
  task.window = op.window;
  task.keys = layer.keys + kv_head * layer.key_head_bytes;
  task.values = layer.values + kv_head * layer.value_head_bytes;
  task.block_stride = x.cache.bytes_per_block();
  task.blocks = x.batch.blocks(attention.cache_group, tile.sequence);
  task.block_size = x.cache.options().block_size;
  task.first_group = first_group;
  task.last_group = last_group;
  return task;
}

/// Runs a task on `thread`, which is likely to take `next` after it.
bool run_task(const Executable& x, AttentionTask task, const std::optional<AttentionTask>& next, int thread) {
  task.scratch = x.attention_scratch.data() + thread * x.attention_scratch_stride;
  task.next = next ? &*next : nullptr;
  return x.kernels.attention[static_cast<int>(x.cache.options().dtype)](task);
}

float* output_row(const Executable& x, const Attention& attention, int64_t token, int64_t kv_head) {
  return x.row(attention.op.out, token) + kv_head * attention.heads_per_kv * attention.layer.head_dim;
}

void run_whole(StepContext& step, const Attention& attention) {
  Executable& x = step.executable;
  const int64_t num_kv_heads = attention.layer.num_kv_heads;
  const int64_t num_chunks = static_cast<int64_t>(x.query_tiles.size()) * num_kv_heads;
  struct Place {
    const QueryTile& tile;
    int64_t kv_head;
  };
  const auto place_of = [&](int64_t chunk) {
    // Later tiles of a prompt see more positions: the long chunks go first, so that no thread is left with one at the end.
    const int64_t from_the_end = num_chunks - 1 - chunk;
    return Place{x.query_tiles[static_cast<std::size_t>(from_the_end / num_kv_heads)], from_the_end % num_kv_heads};
  };
  const auto task_of = [&](const Place& place) {
    return make_task(x, attention, place.tile, place.kv_head, 0, num_groups(x, place.tile));
  };
  step.pool.parallel_for(num_chunks, [&](int64_t chunk, int thread) {
    const Place place = place_of(chunk);
    AttentionTask task = task_of(place);
    task.out = output_row(x, attention, place.tile.first_token, place.kv_head);
    task.out_stride = x.stride(attention.op.out);
    const int64_t next_chunk = step.pool.likely_next_chunk(chunk);
    std::optional<AttentionTask> next;
    if (next_chunk < num_chunks) next = task_of(place_of(next_chunk));
    if (!run_task(x, task, next, thread)) step.mark_not_finite();
  });
}

/// States lie [row][group], the rows of a tile and key/value head side by side, token-major.
void run_split(StepContext& step, const Attention& attention, int64_t most_groups) {
  Executable& x = step.executable;
  const int64_t num_kv_heads = attention.layer.num_kv_heads;
  const int64_t heads_per_kv = attention.heads_per_kv;
  const int64_t num_tasks = static_cast<int64_t>(x.query_tiles.size()) * num_kv_heads;
  const int64_t row_floats = most_groups * attention.state_floats();
  const auto states_of = [&](const QueryTile& tile, int64_t kv_head) {
    const int64_t first_row = tile.first_token * attention.op.num_heads + kv_head * heads_per_kv * tile.num_tokens;
    return x.attention_states.data() + first_row * row_floats;
  };
  /// Of a chunk, which is a group of a task; none where its tile has fewer groups.
  const auto task_of = [&](int64_t chunk) -> std::optional<AttentionTask> {
    const int64_t index = chunk / most_groups;
    const int32_t group = static_cast<int32_t>(chunk % most_groups);
    const QueryTile& tile = x.query_tiles[static_cast<std::size_t>(index / num_kv_heads)];
    if (group >= num_groups(x, tile)) return std::nullopt;
    AttentionTask task = make_task(x, attention, tile, index % num_kv_heads, group, group + 1);
    task.states = states_of(tile, index % num_kv_heads) + group * attention.state_floats();
    task.state_stride = row_floats;
    return task;
  };
  const int64_t num_chunks = num_tasks * most_groups;
  step.pool.parallel_for(num_chunks, [&](int64_t chunk, int thread) {
    const std::optional<AttentionTask> task = task_of(chunk);
    if (!task) return;
    const int64_t next_chunk = step.pool.likely_next_chunk(chunk);
    run_task(x, *task, next_chunk < num_chunks ? task_of(next_chunk) : std::nullopt, thread);
  });
  step.pool.parallel_for(num_tasks, [&](int64_t index, int) {
    const QueryTile& tile = x.query_tiles[static_cast<std::size_t>(index / num_kv_heads)];
    const int64_t kv_head = index % num_kv_heads;
    float* states = states_of(tile, kv_head);
    bool finite = true;
    for (int64_t row = 0; row < tile.num_tokens * heads_per_kv; ++row) {
      float* out = output_row(x, attention, tile.first_token + row / heads_per_kv, kv_head) + row % heads_per_kv * attention.layer.head_dim;
      finite &= x.kernels.merge_attention(states + row * row_floats, num_groups(x, tile), attention.state_floats(),
                                          attention.layer.head_dim, out);
    }
    if (!finite) step.mark_not_finite();
  });
}

}  // namespace

void run_write_cache(StepContext& step, const WriteCacheOp& op) {
  Executable& x = step.executable;
  const PagedCache::Layer& layer = x.cache.layer(op.layer);
  const int32_t group = x.program.cache_layers[static_cast<std::size_t>(op.layer)].group;
  const auto write_cache = x.kernels.write_cache[static_cast<int>(x.cache.options().dtype)];

  const auto write_token = [&](int64_t token, int64_t sequence) {
    CachePlace place{};
    place.head_dim = layer.head_dim;
    place.padded_head_dim = layer.padded_head_dim;
    place.block_size = x.cache.options().block_size;
    const int64_t position = x.batch.positions()[token];
    const int64_t block_offset = x.batch.blocks(group, sequence)[position / place.block_size] * x.cache.bytes_per_block();
    place.offset = position % place.block_size;
    bool finite = true;
    for (int64_t head = 0; head < layer.num_kv_heads; ++head) {
      place.keys = layer.keys + block_offset + head * layer.key_head_bytes;
      place.values = layer.values + block_offset + head * layer.value_head_bytes;
      finite &= write_cache(x.row(op.k, token) + head * layer.head_dim, x.row(op.v, token) + head * layer.head_dim, place);
    }
    return finite;
  };

  // Query tiles serve as chunks: up to 32 tokens, of one sequence.
  step.pool.parallel_for(static_cast<int64_t>(x.query_tiles.size()), [&](int64_t chunk, int) {
    const QueryTile& tile = x.query_tiles[static_cast<std::size_t>(chunk)];
    bool finite = true;
    for (int64_t token = tile.first_token; token < tile.first_token + tile.num_tokens; ++token) finite &= write_token(token, tile.sequence);
    if (!finite) step.mark_not_finite();
  });
}

void run_attention(StepContext& step, const AttentionOp& op) {
  Executable& x = step.executable;
  const Attention attention(x, op);
  const int64_t num_tasks = static_cast<int64_t>(x.query_tiles.size()) * attention.layer.num_kv_heads;
  int32_t most_groups = 0;
  for (const QueryTile& tile : x.query_tiles) most_groups = std::max(most_groups, num_groups(x, tile));
  const int64_t state_floats = x.batch.num_tokens() * op.num_heads * most_groups * attention.state_floats();
  const bool has_few_chunks = num_tasks < step.pool.num_threads() * kFewChunksPerThread;
  if (has_few_chunks && most_groups > 1 && state_floats <= x.attention_states.size()) {
    run_split(step, attention, most_groups);
  } else {
    run_whole(step, attention);
  }
}

}  // namespace hearth
