#include "kernels/generic/linear_kernels.h"
#include "kernels/avx512_vnni/isa.h"
#include "kernels/avx512_vnni/variant.h"

namespace hearth {

void add_avx512_vnni_linear_kernels(KernelTable& table) { add_linear_kernels<Avx512Vnni>(table); }

}  // namespace hearth
