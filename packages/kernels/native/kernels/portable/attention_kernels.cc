#define HEARTH_NO_UNROLL
#include "kernels/generic/attention_kernels.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/variant.h"

namespace hearth {

void add_portable_attention_kernels(KernelTable& table) { add_attention_kernels<Portable>(table); }

}  // namespace hearth
