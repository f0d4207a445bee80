#include "kernels/generic/row_kernels.h"
#include "kernels/avx_vnni/isa.h"
#include "kernels/avx_vnni/variant.h"

namespace hearth {

void add_avx_vnni_row_kernels(KernelTable& table) { add_row_kernels<AvxVnni>(table); }

}  // namespace hearth
