#include "kernels/generic/linear_kernels.h"
#include "kernels/avx2/isa.h"
#include "kernels/avx2/variant.h"

namespace hearth {

void add_avx2_linear_kernels(KernelTable& table) { add_linear_kernels<Avx2>(table); }

}  // namespace hearth
