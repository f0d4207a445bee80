#include "kernels/generic/row_kernels.h"
#include "kernels/neon_i8mm/isa.h"
#include "kernels/neon_i8mm/variant.h"

namespace hearth {

void add_neon_i8mm_row_kernels(KernelTable& table) { add_row_kernels<NeonI8mm>(table); }

}  // namespace hearth
