#include "kernels/dispatch.h"

#include "kernels/cpu_features.h"
#include "kernels/portable/variant.h"
#include "runtime/failure.h"
#if defined(HEARTH_HAS_AVX2)
#include "kernels/avx2/variant.h"
#endif
#if defined(HEARTH_HAS_AVX_VNNI)
#include "kernels/avx_vnni/variant.h"
#endif
#if defined(HEARTH_HAS_AVX512_VNNI)
#include "kernels/avx512_vnni/variant.h"
#endif
#if defined(HEARTH_HAS_NEON_DOTPROD)
#include "kernels/neon_dotprod/variant.h"
#endif
#if defined(HEARTH_HAS_NEON_I8MM)
#include "kernels/neon_i8mm/variant.h"
#endif

namespace hearth {
namespace {

using AddKernels = void (*)(KernelTable& table);

/// The table that a variant's three files fill, once.
template <AddKernels add_row, AddKernels add_linear, AddKernels add_attention>
const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable t{};
    add_row(t);
    add_linear(t);
    add_attention(t);
    return t;
  }();
  return table;
}

/// "avx2 (needs avx2, fma, f16c), portable"
std::string list_variants() {
  std::string list;
  for (const Variant& variant : all_variants()) {
    if (!list.empty()) list += ", ";
    list += variant.name;
    if (is_supported(variant)) continue;
    list += " (not on this processor: it needs ";
    std::string separator;
    for (const std::string& feature : cpu_feature_names(variant.required_features)) {
      list += separator + feature;
      separator = ", ";
    }
    list += ")";
  }
  return list;
}

}  // namespace

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> variants = {
#if defined(HEARTH_HAS_AVX512_VNNI)
      {"avx512-vnni", "x86-64 with AVX-512 and its 8-bit dot products", kAvx2 | kFma | kF16c | kAvx512 | kAvx512Vnni,
       kernels<add_avx512_vnni_row_kernels, add_avx512_vnni_linear_kernels, add_avx512_vnni_attention_kernels>},
#endif
#if defined(HEARTH_HAS_AVX_VNNI)
      {"avx-vnni", "x86-64 with AVX2 and 8-bit dot products", kAvx2 | kFma | kF16c | kAvxVnni,
       kernels<add_avx_vnni_row_kernels, add_avx_vnni_linear_kernels, add_avx_vnni_attention_kernels>},
#endif
#if defined(HEARTH_HAS_AVX2)
      {"avx2", "x86-64 with 256-bit integer products, fused multiply-add and half floats", kAvx2 | kFma | kF16c,
       kernels<add_avx2_row_kernels, add_avx2_linear_kernels, add_avx2_attention_kernels>},
#endif
#if defined(HEARTH_HAS_NEON_I8MM)
      {"neon-i8mm", "ARMv8.2 with dot and matrix products of bytes", kDotprod | kFp16 | kI8mm,
       kernels<add_neon_i8mm_row_kernels, add_neon_i8mm_linear_kernels, add_neon_i8mm_attention_kernels>},
#endif
#if defined(HEARTH_HAS_NEON_DOTPROD)
      {"neon-dotprod", "ARMv8.2 with dot products of bytes", kDotprod | kFp16,
       kernels<add_neon_dotprod_row_kernels, add_neon_dotprod_linear_kernels, add_neon_dotprod_attention_kernels>},
#endif
      {"portable", "plain C++ for any processor", 0,
       kernels<add_portable_row_kernels, add_portable_linear_kernels, add_portable_attention_kernels>},
  };
  return variants;
}

bool is_supported(const Variant& variant) {
  return (variant.required_features & ~cpu_features()) == 0;
}

const Variant& choose_variant(const std::string& name) {
  for (const Variant& variant : all_variants()) {
    if (name.empty() ? is_supported(variant) : name == variant.name) {
      if (is_supported(variant)) return variant;
      fail(kInvalidArgument, "The kernel variant '", name, "' cannot run on this processor. There are: ", list_variants(), ".");
    }
  }
  fail(kInvalidArgument, "There is no kernel variant '", name, "'. There are: ", list_variants(), ".");
}

}  // namespace hearth
