#include "variants/tested_variants.h"

namespace hearth {

std::vector<Variant> tested_variants() {
  std::vector<Variant> variants;
  for (const Variant& variant : all_variants()) {
    if (is_supported(variant)) variants.push_back(variant);
  }
  return variants;
}

}  // namespace hearth
