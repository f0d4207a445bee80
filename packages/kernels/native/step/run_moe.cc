#include "step/run_moe.h"

#include <algorithm>
#include <cstring>

#include "step/products.h"

namespace hearth {
namespace {

/// Floats of elementwise work per chunk: some microseconds.
constexpr int64_t kChunkFloats = 8192;

/// What one thread multiplies at a time: tiles of a matrix of an expert with some of its tokens.
struct MatrixChunk {
  int64_t expert;
  int64_t part;
  int64_t first_tile;
  int64_t token_chunk;

  bool has_weights_of(const MatrixChunk& other) const {
    return expert == other.expert && part == other.part && first_tile == other.first_tile;
  }
};

/// One moe-mlp op in one step. Phases follow each other as in run().
class MoeRunner {
 public:
  MoeRunner(StepContext& step, const MoeMlpOp& op)
      : step_(step),
        x_(step.executable),
        moe_(step.executable.moe),
        op_(op),
        num_rows_(step.num_rows(x_.buffer(op.x).rows)),
        num_experts_(static_cast<int64_t>(op.experts.size())),
        hidden_(op.x.width),
        expert_width_(weight(op.experts.front().gate).rows),
        run_slots_(MoeScratch::run_slots(op, x_.capacity(x_.buffer(op.x).rows))) {}

  void run() {
    choose_experts();
    // NaN among the logits: the ids mean nothing.
    if (!step_.is_finite()) return;
    order_slots();
    for (int64_t first = 0; first < num_experts_;) {
      int64_t last = first + 1;
      while (last < num_experts_ && moe_.first_slots[last + 1] - moe_.first_slots[first] <= run_slots_) ++last;
      if (!run_experts(first, last)) return;
      first = last;
    }
  }

 private:
  const Tensor& weight(int32_t index) const { return x_.weights->at(index); }
  const MoeMlpOp::Expert& expert(int64_t id) const { return op_.experts[static_cast<std::size_t>(id)]; }

  /// Calls body(i), which says whether what it wrote is finite, for 0 .. count - 1; each works on about `width` floats.
  template <class Body>
  void for_each(int64_t count, int64_t width, Body&& body) {
    const int64_t per_chunk = std::max<int64_t>(1, kChunkFloats / width);
    step_.pool.parallel_for(divide_up(count, per_chunk), [&](int64_t chunk, int) {
      const int64_t end = std::min(count, (chunk + 1) * per_chunk);
      bool finite = true;
      for (int64_t i = chunk * per_chunk; i < end; ++i) finite &= body(i);
      if (!finite) step_.mark_not_finite();
    });
  }

  /// Each row's experts and their weights; sums start at +0.
  void choose_experts() {
    const int64_t k = op_.num_experts_per_token;
    for_each(num_rows_, num_experts_ * k + hidden_, [&](int64_t row) {
      std::memset(x_.row(op_.out, row), 0, static_cast<std::size_t>(hidden_) * sizeof(float));
      return x_.kernels.choose_experts(x_.row(op_.router_logits, row), num_experts_, k, op_.normalize_weights,
                                       moe_.chosen_experts.data() + row * k, moe_.chosen_weights.data() + row * k);
    });
  }

  /// A counting sort of (row, choice) by expert. Rows stay in order, so an expert's slots ascend by row.
  void order_slots() {
    const int64_t num_chosen = num_rows_ * op_.num_experts_per_token;
    int64_t* first_slots = moe_.first_slots.data();
    std::fill(first_slots, first_slots + num_experts_ + 1, 0);
    for (int64_t i = 0; i < num_chosen; ++i) ++first_slots[moe_.chosen_experts[i] + 1];
    for (int64_t id = 0; id < num_experts_; ++id) first_slots[id + 1] += first_slots[id];
    // Each expert's first slot moves on with every row; at the end it is the first one of the next expert.
    for (int64_t i = 0; i < num_chosen; ++i) {
      const int32_t id = moe_.chosen_experts[i];
      const int64_t slot = first_slots[id]++;
      moe_.chosen_slots[i] = slot;
      moe_.slot_rows[slot] = static_cast<int32_t>(i / op_.num_experts_per_token);
      moe_.slot_experts[slot] = id;
    }
    std::copy_backward(first_slots, first_slots + num_experts_, first_slots + num_experts_ + 1);
    first_slots[0] = 0;
  }

  /// Experts [first, last), whose slots fit a run. Returns whether all is finite so far: a product could hide that its input
  /// was not, so values within the experts are looked at too.
  bool run_experts(int64_t first, int64_t last) {
    first_expert_ = first;
    last_expert_ = last;
    first_slot_ = moe_.first_slots[first];
    num_slots_ = moe_.first_slots[last] - first_slot_;
    bring_inputs();
    multiply(2, expert_width_, [&](int64_t id, int64_t part, LinearTask& task) -> const Tensor& {
      const Tensor& gate = weight(expert(id).gate);
      const Tensor& up = weight(expert(id).up);
      task.x = moe_.x.data();
      task.x_stride = hidden_;
      task.x_blocks = blocks(part == 0 ? 0 : MoeScratch::up_set(gate, up), 0, hidden_);
      task.out = moe_.gate_up.data() + part * expert_width_;
      task.out_stride = 2 * expert_width_;
      return part == 0 ? gate : up;
    });
    if (!step_.is_finite()) return false;
    activate();
    if (!step_.is_finite()) return false;
    multiply(1, hidden_, [&](int64_t id, int64_t, LinearTask& task) -> const Tensor& {
      task.x = moe_.gate_up.data();
      task.x_stride = 2 * expert_width_;
      task.x_blocks = blocks(0, 0, expert_width_);
      task.out = moe_.y.data();
      task.out_stride = hidden_;
      return weight(expert(id).down);
    });
    add_outputs();
    return step_.is_finite();
  }

  /// The run's rows of x, as their expert's matrices want them.
  void bring_inputs() {
    for_each(num_slots_, hidden_, [&](int64_t slot) {
      const float* row = x_.row(op_.x, moe_.slot_rows[first_slot_ + slot]);
      const MoeMlpOp::Expert& e = expert(moe_.slot_experts[first_slot_ + slot]);
      const Tensor& gate = weight(e.gate);
      const Tensor& up = weight(e.up);
      const int64_t up_set = MoeScratch::up_set(gate, up);
      if (is_quantized(gate.dtype)) quantize_for(x_.kernels, gate, row, blocks(0, slot, hidden_));
      if (is_quantized(up.dtype) && (up_set != 0 || !is_quantized(gate.dtype))) {
        quantize_for(x_.kernels, up, row, blocks(up_set, slot, hidden_));
      }
      if (!is_quantized(gate.dtype) || !is_quantized(up.dtype)) {
        std::memcpy(moe_.x.data() + slot * hidden_, row, static_cast<std::size_t>(hidden_) * sizeof(float));
      }
      return true;
    });
  }

  /// gate = activation(gate) · up
  void activate() {
    const auto gated_activation = x_.kernels.gated_activation[static_cast<int>(op_.function)];
    for_each(num_slots_, expert_width_, [&](int64_t slot) {
      float* gate = moe_.gate_up.data() + slot * 2 * expert_width_;
      const bool finite = gated_activation(gate, gate + expert_width_, expert_width_, gate);
      const Tensor& down = weight(expert(moe_.slot_experts[first_slot_ + slot]).down);
      if (is_quantized(down.dtype)) quantize_for(x_.kernels, down, gate, blocks(0, slot, expert_width_));
      return finite;
    });
  }

  /// out = out + weight · y, each row's experts in ascending id.
  void add_outputs() {
    const int64_t k = op_.num_experts_per_token;
    for_each(num_rows_, k * hidden_, [&](int64_t row) {
      bool finite = true;
      for (int64_t i = row * k; i < (row + 1) * k; ++i) {
        const int64_t slot = moe_.chosen_slots[i] - first_slot_;
        if (slot < 0 || slot >= num_slots_) continue;
        finite &= x_.kernels.add_scaled(x_.row(op_.out, row), moe_.y.data() + slot * hidden_, moe_.chosen_weights[i], hidden_);
      }
      return finite;
    });
  }

  /// Blocks of a slot in a set of quantized rows that are `width` wide.
  ActivationBlock* blocks(int64_t set, int64_t slot, int64_t width) const {
    return moe_.activations.data() + (set * run_slots_ + slot) * (width / kBlockElements);
  }

  /// `num_parts` products of each expert of the run with the rows of its slots, all matrices having `num_outputs` rows.
  /// part_of(id, part, task) gives a matrix, and sets where its inputs and outputs lie.
  template <class PartOf>
  void multiply(int64_t num_parts, int64_t num_outputs, PartOf&& part_of) {
    const auto num_token_chunks = [&](int64_t id) {
      return divide_up(moe_.first_slots[id + 1] - moe_.first_slots[id], kTokensPerChunk);
    };
    int64_t all_token_chunks = 0;
    for (int64_t id = first_expert_; id < last_expert_; ++id) all_token_chunks += num_token_chunks(id);
    if (all_token_chunks == 0) return;
    const int64_t all_tiles = divide_up(num_outputs, kTileRows);
    const int64_t chunk_tiles = tiles_per_chunk(all_tiles, num_parts * all_token_chunks, step_.pool.num_threads());
    const int64_t num_tile_chunks = divide_up(all_tiles, chunk_tiles);

    const auto place_of = [&](int64_t chunk) {
      MatrixChunk place{first_expert_, 0, 0, 0};
      const auto chunks_of = [&](int64_t id) { return num_token_chunks(id) * num_parts * num_tile_chunks; };
      for (; chunk >= chunks_of(place.expert); ++place.expert) chunk -= chunks_of(place.expert);
      place.token_chunk = chunk % num_token_chunks(place.expert);
      place.first_tile = chunk / num_token_chunks(place.expert) % num_tile_chunks * chunk_tiles;
      place.part = chunk / num_token_chunks(place.expert) / num_tile_chunks;
      return place;
    };
    const auto last_tile = [&](const MatrixChunk& place) { return std::min(all_tiles, place.first_tile + chunk_tiles); };

    // Neighbouring chunks share their weights, which are the larger part.
    const int64_t num_chunks = all_token_chunks * num_parts * num_tile_chunks;
    step_.pool.parallel_for(num_chunks, [&](int64_t chunk, int) {
      const MatrixChunk place = place_of(chunk);
      LinearTask task;
      const Tensor& matrix = part_of(place.expert, place.part, task);
      task.packed = matrix.data.data();
      task.rows = matrix.rows;
      task.columns = matrix.columns;
      task.first_tile = place.first_tile;
      task.last_tile = last_tile(place);
      task.first_token = moe_.first_slots[place.expert] - first_slot_ + place.token_chunk * kTokensPerChunk;
      task.last_token = std::min(moe_.first_slots[place.expert + 1] - first_slot_, task.first_token + kTokensPerChunk);
      task.bias = nullptr;
      const int64_t next_chunk = step_.pool.likely_next_chunk(chunk);
      if (next_chunk < num_chunks) {
        const MatrixChunk next = place_of(next_chunk);
        LinearTask next_task;
        if (!place.has_weights_of(next)) {
          set_next_tiles(&task, part_of(next.expert, next.part, next_task), next.first_tile, last_tile(next));
        }
      }
      if (!x_.kernels.linear[static_cast<int>(matrix.dtype)](task)) step_.mark_not_finite();
    });
  }

  StepContext& step_;
  Executable& x_;
  MoeScratch& moe_;
  const MoeMlpOp& op_;
  const int64_t num_rows_;
  const int64_t num_experts_;
  const int64_t hidden_;
  const int64_t expert_width_;
  const int64_t run_slots_;

  // The run at hand.
  int64_t first_expert_ = 0;
  int64_t last_expert_ = 0;
  int64_t first_slot_ = 0;
  int64_t num_slots_ = 0;
};

}  // namespace

void run_moe(StepContext& step, const MoeMlpOp& op) {
  if (step.num_rows(step.executable.buffer(op.x).rows) == 0) return;
  MoeRunner(step, op).run();
}

}  // namespace hearth
