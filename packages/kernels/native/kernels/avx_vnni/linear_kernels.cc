#include "kernels/generic/linear_kernels.h"
#include "kernels/avx_vnni/isa.h"
#include "kernels/avx_vnni/variant.h"

namespace hearth {

void add_avx_vnni_linear_kernels(KernelTable& table) { add_linear_kernels<AvxVnni>(table); }

}  // namespace hearth
