#include "kernels/generic/row_kernels.h"
#include "kernels/neon_dotprod/isa.h"
#include "kernels/neon_dotprod/variant.h"

namespace hearth {

void add_neon_dotprod_row_kernels(KernelTable& table) { add_row_kernels<NeonDotprod>(table); }

}  // namespace hearth
