#include "kernels/generic/attention_kernels.h"
#include "kernels/avx_vnni/isa.h"
#include "kernels/avx_vnni/variant.h"

namespace hearth {

void add_avx_vnni_attention_kernels(KernelTable& table) { add_attention_kernels<AvxVnni>(table); }

}  // namespace hearth
