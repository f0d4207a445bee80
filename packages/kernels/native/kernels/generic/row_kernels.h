#pragma once

// The kernels over single rows, and the elementary functions that tests ask for, as entries of a kernel table.

#include "kernels/generic/activations.h"
#include "kernels/generic/embed.h"
#include "kernels/generic/experts.h"
#include "kernels/generic/logprob.h"
#include "kernels/generic/norms.h"
#include "kernels/generic/peak.h"
#include "kernels/generic/rows.h"
#include "kernels/generic/sampling.h"
#include "kernels/kernel_table.h"

namespace hearth {

template <class Isa>
void quantize_row(const float* x, int64_t num_blocks, ActivationBlock* out) {
  for (int64_t block = 0; block < num_blocks; ++block) Isa::quantize_block(x + block * kBlockElements, out + block);
}

// For tests; n is a multiple of 8 where vectors are used.

template <class Isa>
void exp_values(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i + 8 <= n; i += 8) Isa::store(out + i, exp8<Isa>(Isa::load(x + i)));
}
template <class Isa>
void tanh_values(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i + 8 <= n; i += 8) Isa::store(out + i, tanh8<Isa>(Isa::load(x + i)));
}
template <class Isa>
void log_values(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = log1<Isa>(x[i]);
}
template <class Isa>
void sincos_values(const float* angle, int64_t n, float* sines, float* cosines) {
  for (int64_t i = 0; i < n; ++i) sincos1<Isa>(angle[i], sines + i, cosines + i);
}
template <class Isa>
void fma_values(const float* a, const float* b, const float* c, int64_t n, float* out) {
  for (int64_t i = 0; i + 8 <= n; i += 8) {
    Isa::store(out + i, Isa::fma(Isa::load(a + i), Isa::load(b + i), Isa::load(c + i)));
  }
}
template <class Isa>
void f16_to_f32_values(const uint16_t* x, int64_t n, float* out) {
  for (int64_t i = 0; i + 8 <= n; i += 8) Isa::store(out + i, Isa::load(x + i));
}
template <class Isa>
void f32_to_f16_values(const float* x, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i + 8 <= n; i += 8) Isa::store(out + i, Isa::load(x + i));
}

template <class Isa, ActivationFunction FUNCTION>
void add_activation(KernelTable& table) {
  table.activation[static_cast<int>(FUNCTION)] = activation<Isa, FUNCTION>;
  table.gated_activation[static_cast<int>(FUNCTION)] = gated_activation<Isa, FUNCTION>;
}

template <class Isa>
void add_row_kernels(KernelTable& table) {
  table.embed = embed<Isa>;
  table.rope_table = rope_table<Isa>;
  table.rms_norm = rms_norm<Isa>;
  table.layer_norm = layer_norm<Isa>;
  table.add = add_rows<Isa>;
  table.add_scaled = add_scaled<Isa>;
  table.scale = scale_row<Isa>;
  table.softcap = softcap_row<Isa>;
  table.rope = rope<Isa>;
  add_activation<Isa, ActivationFunction::silu>(table);
  add_activation<Isa, ActivationFunction::gelu_tanh>(table);
  table.choose_experts = choose_experts<Isa>;
  table.quantize_row = quantize_row<Isa>;
  table.row_logprob = row_logprob<Isa>;
  table.sample = sample_row<Isa>;
  add_peak_kernels<Isa>(table);
  table.exp_values = exp_values<Isa>;
  table.tanh_values = tanh_values<Isa>;
  table.log_values = log_values<Isa>;
  table.sincos_values = sincos_values<Isa>;
  table.fma_values = fma_values<Isa>;
  table.f16_to_f32 = f16_to_f32_values<Isa>;
  table.f32_to_f16 = f32_to_f16_values<Isa>;
}

}  // namespace hearth
