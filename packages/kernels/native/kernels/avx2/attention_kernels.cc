#include "kernels/generic/attention_kernels.h"
#include "kernels/avx2/isa.h"
#include "kernels/avx2/variant.h"

namespace hearth {

void add_avx2_attention_kernels(KernelTable& table) { add_attention_kernels<Avx2>(table); }

}  // namespace hearth
