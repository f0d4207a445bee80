#pragma once

// The AVX2 variant, for processors with AVX2, FMA and F16C (Intel since Haswell, AMD since Zen). Its .cc files are the only
// ones compiled with these instruction sets on (CMakeLists.txt), so nothing else may be defined in them, and none of its
// kernels may run before dispatch.cc has checked the processor.

#include "kernels/kernel_table.h"

namespace hearth {

void add_avx2_row_kernels(KernelTable& table);
void add_avx2_linear_kernels(KernelTable& table);
void add_avx2_attention_kernels(KernelTable& table);

}  // namespace hearth
