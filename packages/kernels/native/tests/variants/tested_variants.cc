#include "variants/tested_variants.h"

#include "kernels/cpu_features.h"

namespace hearth {

std::vector<Variant> tested_variants() {
  std::vector<Variant> variants;
  for (const Variant& variant : all_variants()) {
    if (is_supported(variant)) variants.push_back(variant);
  }
#if defined(HEARTH_TESTS_EMULATED_VNNI)
  const uint32_t needed = kAvx2 | kFma | kF16c;
  const Variant emulated[] = {
      {"emulated-vnni", "the logic of avx-vnni", needed, emulated_vnni_kernels},
      {"emulated-vnni-16", "the logic of avx512-vnni", needed, emulated_vnni16_kernels},
  };
  for (const Variant& variant : emulated) {
    if (is_supported(variant)) variants.push_back(variant);
  }
#endif
  return variants;
}

}  // namespace hearth
