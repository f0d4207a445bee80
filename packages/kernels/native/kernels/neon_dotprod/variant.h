#pragma once

// The NEON variant for ARMv8.2 with dot products. Its .cc files are compiled with that instruction set on (CMakeLists.txt), so
// nothing else may be defined in them, and none of its kernels may run before dispatch.cc has checked the processor.

#include "kernels/kernel_table.h"

namespace hearth {

void add_neon_dotprod_row_kernels(KernelTable& table);
void add_neon_dotprod_linear_kernels(KernelTable& table);
void add_neon_dotprod_attention_kernels(KernelTable& table);

}  // namespace hearth
