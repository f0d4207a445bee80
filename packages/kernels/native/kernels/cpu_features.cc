#include "kernels/cpu_features.h"

#if defined(__x86_64__) || defined(_M_X64)
#define HEARTH_X64
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace hearth {
namespace {

#if defined(HEARTH_X64)

struct CpuidLeaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidLeaf r;
#if defined(_MSC_VER)
  int out[4];
  __cpuidex(out, static_cast<int>(leaf), static_cast<int>(subleaf));
  r.eax = out[0], r.ebx = out[1], r.ecx = out[2], r.edx = out[3];
#else
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
  return r;
}

/// Whether the operating system saves the wide registers on a task switch; without it the instructions fault.
bool system_saves_ymm() {
  constexpr uint32_t kOsxsave = 1u << 27;
  if ((cpuid(1, 0).ecx & kOsxsave) == 0) return false;
#if defined(_MSC_VER)
  const uint64_t xcr0 = _xgetbv(0);
#else
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const uint64_t xcr0 = low;
#endif
  return (xcr0 & 6) == 6;  // SSE and AVX state
}

uint32_t detect() {
  if (!system_saves_ymm()) return 0;
  const CpuidLeaf basic = cpuid(1, 0);
  const CpuidLeaf extended = cpuid(7, 0);
  uint32_t features = 0;
  if ((basic.ecx & 1u << 12) != 0) features |= kFma;
  if ((basic.ecx & 1u << 29) != 0) features |= kF16c;
  if ((extended.ebx & 1u << 5) != 0) features |= kAvx2;
  return features;
}

#else

uint32_t detect() { return 0; }

#endif

}  // namespace

uint32_t cpu_features() {
  static const uint32_t features = detect();
  return features;
}

std::vector<std::string> cpu_feature_names(uint32_t features) {
  std::vector<std::string> names;
  if ((features & kAvx2) != 0) names.emplace_back("avx2");
  if ((features & kFma) != 0) names.emplace_back("fma");
  if ((features & kF16c) != 0) names.emplace_back("f16c");
  return names;
}

}  // namespace hearth
