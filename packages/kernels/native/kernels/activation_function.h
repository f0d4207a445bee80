#pragma once

#include <cstdint>

namespace hearth {

/// Functions that an MLP applies to each element. Numbers as in src/encode-program.ts.
enum class ActivationFunction : int32_t { silu = 0, gelu_tanh = 1 };

constexpr int kNumActivationFunctions = 2;

}  // namespace hearth
