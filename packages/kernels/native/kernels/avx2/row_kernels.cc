#include "kernels/generic/row_kernels.h"
#include "kernels/avx2/isa.h"
#include "kernels/avx2/variant.h"

namespace hearth {

void add_avx2_row_kernels(KernelTable& table) { add_row_kernels<Avx2>(table); }

}  // namespace hearth
