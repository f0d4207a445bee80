#include "variants/emulated_vnni.h"

#include "kernels/generic/attention_kernels.h"
#include "kernels/generic/linear_kernels.h"
#include "kernels/generic/row_kernels.h"
#include "variants/tested_variants.h"

namespace hearth {
namespace {

template <class Isa>
const KernelTable& emulated_kernels() {
  static const KernelTable table = [] {
    KernelTable t{};
    add_row_kernels<Isa>(t);
    add_linear_kernels<Isa>(t);
    add_attention_kernels<Isa>(t);
    return t;
  }();
  return table;
}

}  // namespace

const KernelTable& emulated_vnni_kernels() { return emulated_kernels<EmulatedVnni>(); }
const KernelTable& emulated_vnni16_kernels() { return emulated_kernels<EmulatedVnni16>(); }

}  // namespace hearth
