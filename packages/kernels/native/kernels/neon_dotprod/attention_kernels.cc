#include "kernels/generic/attention_kernels.h"
#include "kernels/neon_dotprod/isa.h"
#include "kernels/neon_dotprod/variant.h"

namespace hearth {

void add_neon_dotprod_attention_kernels(KernelTable& table) { add_attention_kernels<NeonDotprod>(table); }

}  // namespace hearth
