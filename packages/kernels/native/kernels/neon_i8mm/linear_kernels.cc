#include "kernels/generic/linear_kernels.h"
#include "kernels/neon_i8mm/isa.h"
#include "kernels/neon_i8mm/variant.h"

namespace hearth {

void add_neon_i8mm_linear_kernels(KernelTable& table) { add_linear_kernels<NeonI8mm>(table); }

}  // namespace hearth
