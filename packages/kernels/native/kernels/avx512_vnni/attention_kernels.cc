#include "kernels/generic/attention_kernels.h"
#include "kernels/avx512_vnni/isa.h"
#include "kernels/avx512_vnni/variant.h"

namespace hearth {

void add_avx512_vnni_attention_kernels(KernelTable& table) { add_attention_kernels<Avx512Vnni>(table); }

}  // namespace hearth
