#define HEARTH_NO_UNROLL
#include "kernels/generic/linear_kernels.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/variant.h"

namespace hearth {

void add_portable_linear_kernels(KernelTable& table) { add_linear_kernels<Portable>(table); }

}  // namespace hearth
