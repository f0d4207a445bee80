#pragma once

// The AVX-VNNI variant, for processors with AVX2, FMA, F16C and AVX-VNNI. What avx2/variant.h says of its files holds here too.

#include "kernels/kernel_table.h"

namespace hearth {

void add_avx_vnni_row_kernels(KernelTable& table);
void add_avx_vnni_linear_kernels(KernelTable& table);
void add_avx_vnni_attention_kernels(KernelTable& table);

}  // namespace hearth
