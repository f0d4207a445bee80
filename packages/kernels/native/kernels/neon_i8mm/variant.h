#pragma once

// The NEON variant for ARMv8.2 with dot products and with matrix products of bytes. Its .cc files are compiled with those
// instruction sets on (CMakeLists.txt), so nothing else may be defined in them, and none of its kernels may run before
// dispatch.cc has checked the processor.

#include "kernels/kernel_table.h"

namespace hearth {

void add_neon_i8mm_row_kernels(KernelTable& table);
void add_neon_i8mm_linear_kernels(KernelTable& table);
void add_neon_i8mm_attention_kernels(KernelTable& table);

}  // namespace hearth
