#pragma once

// The portable variant: plain C++, for every processor that the addon is built for.

#include "kernels/kernel_table.h"

namespace hearth {

void add_portable_row_kernels(KernelTable& table);
void add_portable_linear_kernels(KernelTable& table);
void add_portable_attention_kernels(KernelTable& table);

}  // namespace hearth
