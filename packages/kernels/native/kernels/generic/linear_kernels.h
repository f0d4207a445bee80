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
  table.linear[static_cast<int>(Dtype::q5_0)] = linear<Isa, Dtype::q5_0>;
  table.linear[static_cast<int>(Dtype::q5_1)] = linear<Isa, Dtype::q5_1>;
  table.linear[static_cast<int>(Dtype::iq4_nl)] = linear<Isa, Dtype::iq4_nl>;
  table.linear[static_cast<int>(Dtype::q2_k)] = linear<Isa, Dtype::q2_k>;
  table.linear[static_cast<int>(Dtype::q3_k)] = linear<Isa, Dtype::q3_k>;
  table.linear[static_cast<int>(Dtype::q4_k)] = linear<Isa, Dtype::q4_k>;
  table.linear[static_cast<int>(Dtype::q5_k)] = linear<Isa, Dtype::q5_k>;
  table.linear[static_cast<int>(Dtype::q6_k)] = linear<Isa, Dtype::q6_k>;
  table.linear[static_cast<int>(Dtype::iq4_xs)] = linear<Isa, Dtype::iq4_xs>;
  table.linear[static_cast<int>(Dtype::int4_g32)] = linear<Isa, Dtype::int4_g32>;
  table.linear[static_cast<int>(Dtype::int4_g128)] = linear<Isa, Dtype::int4_g128>;
  table.linear[static_cast<int>(Dtype::f8_e4m3)] = linear<Isa, Dtype::f8_e4m3>;
}

}  // namespace hearth
