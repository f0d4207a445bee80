// Kernels over single rows, in awkward widths.

#include <algorithm>
#include <string>
#include <vector>

#include "variants/comparison.h"
#include "variants/inputs.h"
#include "variants/random_blocks.h"

namespace hearth {
namespace {

/// Rows of one width: awkward, and one that makes results NaN or infinite.
template <class Compare>
void for_each_row(uint64_t seed, Compare&& compare) {
  Random random(seed);
  for (const int64_t width : kAwkwardWidths) {
    for (int round = 0; round < 4; ++round) {
      const bool is_spoilt = round == 3;
      const std::vector<float> x = is_spoilt ? spoilt_floats(random, width) : awkward_floats(random, width);
      compare(text_of("width ", width, is_spoilt ? " with a spoilt value" : "", ", round ", round), width, x, random);
    }
  }
}

/// A copy of a row for the kernels that work in place.
float* copied(const std::vector<float>& x, Results& r) {
  float* out = r.floats("row", static_cast<int64_t>(x.size()));
  std::copy(x.begin(), x.end(), out);
  return out;
}

void compare_embed(Comparison& comparison) {
  comparison.start("embed", &KernelTable::embed);
  Random random(21);
  for (int32_t i = 0; i < kNumDtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    for (const int64_t blocks : {1, 3}) {
      const int64_t columns = blocks * dtype_info(dtype).block_elements;
      const PackedMatrix matrix(dtype, 11, columns, random);
      for (int64_t row = 0; row < 11; ++row) {
        comparison.compare(text_of(dtype_info(dtype).name, ", row ", row, " of ", columns), [&](const KernelTable& k, Results& r) {
          r.add_flag("is finite", k.embed(dtype, matrix.data(), columns, row, r.floats("out", columns)));
        });
      }
    }
  }
}

void compare_norms(Comparison& comparison) {
  comparison.start("rms_norm", &KernelTable::rms_norm);
  for_each_row(22, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const std::vector<float> weight = random_floats(random, width, 2.0f);
    comparison.compare(what, [&](const KernelTable& k, Results& r) {
      r.add_flag("is finite", k.rms_norm(x.data(), weight.data(), 1e-5f, width, r.floats("out", width)));
      float* in_place = copied(x, r);
      r.add_flag("is finite", k.rms_norm(in_place, weight.data(), 1e-6f, width, in_place));
    });
  });
  comparison.start("layer_norm", &KernelTable::layer_norm);
  for_each_row(23, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const std::vector<float> weight = random_floats(random, width, 2.0f), bias = random_floats(random, width, 1.0f);
    comparison.compare(what, [&](const KernelTable& k, Results& r) {
      r.add_flag("is finite", k.layer_norm(x.data(), weight.data(), bias.data(), 1e-5f, width, r.floats("out", width)));
      float* in_place = copied(x, r);
      r.add_flag("is finite", k.layer_norm(in_place, weight.data(), bias.data(), 1e-5f, width, in_place));
    });
  });
}

void compare_sums(Comparison& comparison) {
  comparison.start("add", &KernelTable::add);
  for_each_row(24, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const std::vector<float> delta = awkward_floats(random, width);
    comparison.compare(what, [&](const KernelTable& k, Results& r) { r.add_flag("is finite", k.add(copied(x, r), delta.data(), width)); });
  });
  comparison.start("add_scaled", &KernelTable::add_scaled);
  for_each_row(25, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const std::vector<float> delta = awkward_floats(random, width);
    const float factor = random.around_zero(2.0f);
    comparison.compare(what, [&](const KernelTable& k, Results& r) {
      r.add_flag("is finite", k.add_scaled(copied(x, r), delta.data(), factor, width));
    });
  });
  comparison.start("scale", &KernelTable::scale);
  for_each_row(26, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const float factor = random.around_zero(100.0f);
    comparison.compare(what, [&](const KernelTable& k, Results& r) { r.add_flag("is finite", k.scale(copied(x, r), factor, width)); });
  });
  comparison.start("softcap", &KernelTable::softcap);
  for_each_row(27, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random& random) {
    const float cap = 0.01f + std::fabs(random.around_zero(60.0f));
    comparison.compare(what, [&](const KernelTable& k, Results& r) { r.add_flag("is finite", k.softcap(copied(x, r), cap, width)); });
  });
}

void compare_rope(Comparison& comparison) {
  Random random(28);
  comparison.start("rope_table", &KernelTable::rope_table);
  for (const int64_t num_pairs : {1, 3, 4, 12, 15, 32, 64, 128}) {
    std::vector<float> frequencies = random_floats(random, num_pairs, 1.0f);
    for (float& frequency : frequencies) frequency = std::fabs(frequency);
    for (const int32_t position : {0, 1, 17, 2047, 131071}) {
      for (const float scaling : {1.0f, 1.137f}) {
        comparison.compare(text_of(num_pairs, " pairs, position ", position, ", scaling ", scaling), [&](const KernelTable& k, Results& r) {
          r.add_flag("is finite", k.rope_table(frequencies.data(), num_pairs, scaling, position, r.floats("table", 2 * num_pairs)));
        });
      }
    }
  }
  comparison.start("rope", &KernelTable::rope);
  const int64_t shapes[][2] = {{2, 2}, {6, 6}, {16, 8}, {24, 24}, {33, 30}, {64, 64}, {72, 72}, {80, 20}, {128, 128}, {256, 256}};
  for (const auto& [head_dim, rotary_dim] : shapes) {
    for (const int64_t num_heads : {1, 3}) {
      const std::vector<float> x = awkward_floats(random, num_heads * head_dim);
      const std::vector<float> table = random_floats(random, rotary_dim, 1.0f);
      comparison.compare(text_of(num_heads, " heads of ", head_dim, ", ", rotary_dim, " rotating"),
                         [&, head_dim = head_dim, rotary_dim = rotary_dim](const KernelTable& k, Results& r) {
                           r.add_flag("is finite", k.rope(copied(x, r), table.data(), num_heads, head_dim, rotary_dim));
                         });
    }
  }
}

void compare_activations(Comparison& comparison) {
  const char* names[kNumActivationFunctions] = {"silu", "gelu_tanh"};
  for (int function = 0; function < kNumActivationFunctions; ++function) {
    comparison.start(text_of("activation ", names[function]), &KernelTable::activation, function);
    for_each_row(29, [&](const std::string& what, int64_t width, const std::vector<float>& x, Random&) {
      comparison.compare(what, [&](const KernelTable& k, Results& r) {
        r.add_flag("is finite", k.activation[function](x.data(), width, r.floats("out", width)));
      });
    });
    comparison.start(text_of("gated_activation ", names[function]), &KernelTable::gated_activation, function);
    for_each_row(30, [&](const std::string& what, int64_t width, const std::vector<float>& gate, Random& random) {
      const std::vector<float> up = awkward_floats(random, width);
      comparison.compare(what, [&](const KernelTable& k, Results& r) {
        float* out = copied(gate, r);
        r.add_flag("is finite", k.gated_activation[function](out, up.data(), width, out));
      });
    });
  }
}

void compare_experts(Comparison& comparison) {
  comparison.start("choose_experts", &KernelTable::choose_experts);
  Random random(31);
  for (const int32_t num_experts : {1, 4, 7, 8, 60, 128}) {
    for (const int32_t count : {1, 2, 4, 8, 11}) {
      if (count > num_experts) continue;
      for (const bool normalize : {false, true}) {
        std::vector<float> logits = random_floats(random, num_experts, 8.0f);
        for (float& logit : logits) {
          if (random.below(3) == 0) logit = std::floor(logit);  // ties
        }
        comparison.compare(text_of(count, " of ", num_experts, normalize ? ", normalized" : ""), [&](const KernelTable& k, Results& r) {
          int32_t* experts = r.integers("expert", count);
          float* weights = r.floats("weight", count);
          r.add_flag("is complete", k.choose_experts(logits.data(), num_experts, count, normalize, experts, weights));
        });
      }
    }
  }
}

/// Codes and scales. The offsets have the shape of the variant's own accumulators; the products say whether they are right.
void compare_quantize(Comparison& comparison) {
  comparison.start("quantize_row", &KernelTable::quantize_row);
  Random random(32);
  for (const int64_t num_blocks : {1, 2, 5, 64}) {
    for (const float size : {1.0f, 1e-36f, 1e-37f, 1e38f, 0.0f}) {
      std::vector<float> x = size == 1.0f ? awkward_floats(random, num_blocks * kBlockElements) : random_floats(random, num_blocks * kBlockElements, size);
      // Halves: with a largest magnitude of 127, codes are the values themselves, rounded.
      for (int64_t i = 0; i < kBlockElements && size == 1.0f; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(random.below(253) - 126) + 0.5f;
      x[0] = size == 1.0f ? 127.0f : x[0];
      comparison.compare(text_of(num_blocks, " blocks up to ", size), [&](const KernelTable& k, Results& r) {
        std::vector<ActivationBlock> blocks(static_cast<std::size_t>(num_blocks));
        k.quantize_row(x.data(), num_blocks, blocks.data());
        int8_t* codes = r.bytes("code", num_blocks * kBlockElements);
        float* scales = r.floats("scale", num_blocks);
        float* sums = r.floats("scaled sum", num_blocks);
        for (const ActivationBlock& block : blocks) {
          codes = std::copy(block.codes, block.codes + kBlockElements, codes);
          *scales++ = block.scale;
          *sums++ = block.scaled_sum;
        }
      });
    }
  }
}

void compare_logprob(Comparison& comparison) {
  comparison.start("row_logprob", &KernelTable::row_logprob);
  Random random(33);
  for (const int64_t width : kAwkwardWidths) {
    for (const float size : {0.5f, 20.0f, 300.0f}) {
      std::vector<float> logits = random_floats(random, width, size);
      for (float& logit : logits) logit = random.below(4) == 0 ? std::floor(logit) : logit;  // ties
      const int32_t token_id = random.below(static_cast<int32_t>(width));
      comparison.compare(text_of(width, " logits up to ", size), [&](const KernelTable& k, Results& r) {
        const RowLogprob result = k.row_logprob(logits.data(), width, token_id);
        r.add_float("logprob", result.logprob);
        r.add_integer("argmax", result.argmax);
      });
    }
  }
}

/// Rows with ties, with and without each limit and each change of logits, and one with a logit that is not finite.
void compare_sample(Comparison& comparison) {
  comparison.start("sample", &KernelTable::sample);
  Random random(34);
  for (const int64_t vocab_size : {1, 7, 64, 65, 129, 1023, 6001}) {
    for (int round = 0; round < 48; ++round) {
      std::vector<float> logits = round == 47 ? spoilt_floats(random, vocab_size) : random_floats(random, vocab_size, round % 2 == 0 ? 3.0f : 20.0f);
      for (float& logit : logits) logit = random.below(4) == 0 ? std::floor(logit) : logit;
      SamplingParams params;
      params.temperature = round % 6 == 5 ? 0.0 : 0.25 * (1 + round % 7);
      params.top_k = round % 3 == 0 ? 0 : 1 + random.below(60);
      params.top_p = round % 4 == 0 ? 1.0f : 0.9f;
      params.min_p = round % 5 == 0 ? 0.05f : 0.0f;
      params.typical_p = round % 7 == 0 ? 0.8 : 1.0;
      params.seed = random.bits();
      params.choice_index = static_cast<uint32_t>(round % 2);
      params.num_completion_tokens = round;
      std::vector<int32_t> history(40);
      for (int32_t& id : history) id = random.below(static_cast<int32_t>(vocab_size));
      const float bias = random.around_zero(5.0f);
      std::vector<uint32_t> mask(static_cast<std::size_t>(num_mask_words(vocab_size)));
      for (uint32_t& word : mask) word = static_cast<uint32_t>(random.bits());
      params.recent = {history.data(), round % 4 == 1 ? 40 : 0};
      params.repetition_penalty = 1.3f;
      params.generated = {history.data() + 20, round % 4 == 2 ? 20 : 0};
      params.frequency_penalty = 0.5f;
      params.presence_penalty = -0.25f;
      params.biased = {history.data(), round % 8 == 3 ? 1 : 0};
      params.biases = &bias;
      params.mask = round % 8 == 5 ? mask.data() : nullptr;
      comparison.compare(text_of(vocab_size, " logits, round ", round), [&](const KernelTable& k, Results& r) {
        Results scratch;
        int8_t* memory = scratch.bytes("scratch", sampling_scratch_bytes(vocab_size));
        std::fill(memory, memory + sampling_scratch_bytes(vocab_size), int8_t{0});
        r.add_integer("token", k.sample(logits.data(), vocab_size, params, reinterpret_cast<uint8_t*>(memory)));
      });
    }
  }
}

}  // namespace

void compare_rows(Comparison& comparison) {
  compare_embed(comparison);
  compare_norms(comparison);
  compare_sums(comparison);
  compare_rope(comparison);
  compare_activations(comparison);
  compare_experts(comparison);
  compare_quantize(comparison);
  compare_logprob(comparison);
  compare_sample(comparison);
}

}  // namespace hearth
