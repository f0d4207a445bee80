#include "kernels/cpu_features.h"

#if defined(__x86_64__) || defined(_M_X64)
#define HEARTH_X64
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
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

/// The register states that the operating system saves on a task switch (XCR0); without them the instructions fault.
uint64_t saved_states() {
  constexpr uint32_t kOsxsave = 1u << 27;
  if ((cpuid(1, 0).ecx & kOsxsave) == 0) return 0;
#if defined(_MSC_VER)
  return _xgetbv(0);
#else
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

uint32_t detect() {
  constexpr uint64_t kSseAndAvx = 0x06;
  constexpr uint64_t kMasksAndZmm = 0xe0;
  const uint64_t states = saved_states();
  if ((states & kSseAndAvx) != kSseAndAvx) return 0;
  const CpuidLeaf basic = cpuid(1, 0);
  const CpuidLeaf extended = cpuid(7, 0);
  const CpuidLeaf more = extended.eax >= 1 ? cpuid(7, 1) : CpuidLeaf();
  const auto has = [](uint32_t word, int bit) { return (word >> bit & 1) != 0; };
  uint32_t features = 0;
  if (has(basic.ecx, 12)) features |= kFma;
  if (has(basic.ecx, 29)) features |= kF16c;
  if (has(extended.ebx, 5)) features |= kAvx2;
  if (has(more.eax, 4)) features |= kAvxVnni;
  if ((states & kMasksAndZmm) == kMasksAndZmm) {
    if (has(extended.ebx, 16) && has(extended.ebx, 17) && has(extended.ebx, 30) && has(extended.ebx, 31)) features |= kAvx512;
    if (has(extended.ecx, 11)) features |= kAvx512Vnni;
  }
  return features;
}

#elif defined(__aarch64__) && defined(__linux__)

// Older headers lack the names.
#if !defined(HWCAP_ASIMDDP)
#define HWCAP_ASIMDDP (1 << 20)
#endif
#if !defined(HWCAP2_I8MM)
#define HWCAP2_I8MM (1 << 13)
#endif

uint32_t detect() {
  const unsigned long basic = getauxval(AT_HWCAP);
  const unsigned long more = getauxval(AT_HWCAP2);
  uint32_t features = 0;
  if ((basic & HWCAP_ASIMDDP) != 0) features |= kDotprod;
  if ((basic & HWCAP_ASIMDHP) != 0) features |= kFp16;
  if ((more & HWCAP2_I8MM) != 0) features |= kI8mm;
  return features;
}

#elif defined(__aarch64__) && defined(__APPLE__)

/// Systems that do not know the name of a feature do not have it.
bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value == 1;
}

uint32_t detect() {
  uint32_t features = 0;
  if (has_feature("hw.optional.arm.FEAT_DotProd")) features |= kDotprod;
  if (has_feature("hw.optional.arm.FEAT_FP16")) features |= kFp16;
  if (has_feature("hw.optional.arm.FEAT_I8MM")) features |= kI8mm;
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
  if ((features & kAvxVnni) != 0) names.emplace_back("avxvnni");
  if ((features & kAvx512) != 0) names.emplace_back("avx512");
  if ((features & kAvx512Vnni) != 0) names.emplace_back("avx512_vnni");
  if ((features & kDotprod) != 0) names.emplace_back("dotprod");
  if ((features & kFp16) != 0) names.emplace_back("fp16");
  if ((features & kI8mm) != 0) names.emplace_back("i8mm");
  return names;
}

}  // namespace hearth
