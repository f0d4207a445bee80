#pragma once

// The AVX-512 VNNI variant. What avx2/variant.h says of its files holds here too.

#include "kernels/kernel_table.h"

namespace hearth {

void add_avx512_vnni_row_kernels(KernelTable& table);
void add_avx512_vnni_linear_kernels(KernelTable& table);
void add_avx512_vnni_attention_kernels(KernelTable& table);

}  // namespace hearth
