#define HEARTH_NO_UNROLL
#include "kernels/generic/row_kernels.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/variant.h"

namespace hearth {

void add_portable_row_kernels(KernelTable& table) { add_row_kernels<Portable>(table); }

}  // namespace hearth
