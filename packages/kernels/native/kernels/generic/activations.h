#pragma once

// Activation functions over one row, alone and as the gate of a product. Each kernel returns whether all values written are
// finite.

#include <cstdint>

#include "kernels/activation_function.h"
#include "kernels/compiler.h"
#include "kernels/generic/math.h"
#include "kernels/generic/rows.h"

namespace hearth {

template <class Isa, ActivationFunction FUNCTION>
HEARTH_INLINE typename Isa::F8 activate8(typename Isa::F8 x) {
  if constexpr (FUNCTION == ActivationFunction::silu) {
    return silu8<Isa>(x);
  } else {
    static_assert(FUNCTION == ActivationFunction::gelu_tanh, "there is no other");
    return gelu_tanh8<Isa>(x);
  }
}

/// out = function(x); out may be x.
template <class Isa, ActivationFunction FUNCTION>
bool activation(const float* x, int64_t width, float* out) {
  return map_row<Isa>(width, out, [=](const auto& at) { return activate8<Isa, FUNCTION>(at(x)); });
}

/// out = function(gate) · up; out may be gate or up.
template <class Isa, ActivationFunction FUNCTION>
bool gated_activation(const float* gate, const float* up, int64_t width, float* out) {
  return map_row<Isa>(width, out, [=](const auto& at) { return Isa::mul(activate8<Isa, FUNCTION>(at(gate)), at(up)); });
}

}  // namespace hearth
