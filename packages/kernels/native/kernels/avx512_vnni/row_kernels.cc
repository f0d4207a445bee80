#include "kernels/generic/row_kernels.h"
#include "kernels/avx512_vnni/isa.h"
#include "kernels/avx512_vnni/variant.h"

namespace hearth {

void add_avx512_vnni_row_kernels(KernelTable& table) { add_row_kernels<Avx512Vnni>(table); }

}  // namespace hearth
