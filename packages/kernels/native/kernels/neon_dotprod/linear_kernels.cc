#include "kernels/generic/linear_kernels.h"
#include "kernels/neon_dotprod/isa.h"
#include "kernels/neon_dotprod/variant.h"

namespace hearth {

void add_neon_dotprod_linear_kernels(KernelTable& table) { add_linear_kernels<NeonDotprod>(table); }

}  // namespace hearth
