#pragma once

// The matrix products, as entries of a kernel table.

#include "kernels/generic/linear.h"

namespace hearth {

template <class Isa>
void add_linear_kernels(KernelTable& table) {
  table.linear[static_cast<int>(Dtype::f32)] = linear<Isa, Dtype::f32>;
  table.linear[static_cast<int>(Dtype::f16)] = linear<Isa, Dtype::f16>;
  table.linear[static_cast<int>(Dtype::bf16)] = linear<Isa, Dtype::bf16>;
  table.linear[static_cast<int>(Dtype::q8_0)] = linear<Isa, Dtype::q8_0>;
  table.linear[static_cast<int>(Dtype::q4_0)] = linear<Isa, Dtype::q4_0>;
  table.linear[static_cast<int>(Dtype::q4_1)] = linear<Isa, Dtype::q4_1>;
}

}  // namespace hearth
