#include "kernels/generic/attention_kernels.h"
#include "kernels/neon_i8mm/isa.h"
#include "kernels/neon_i8mm/variant.h"

namespace hearth {

void add_neon_i8mm_attention_kernels(KernelTable& table) { add_attention_kernels<NeonI8mm>(table); }

}  // namespace hearth
