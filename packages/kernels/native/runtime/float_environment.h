#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif
#include <cstdint>

namespace hearth {

/// Puts this thread into the floating-point mode of docs/numerics.md: round to nearest even, denormals kept, no traps.
/// New threads inherit the mode of the one that made them, which may be some other addon's.
inline void set_float_environment() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_setcsr(0x1f80);  // all exceptions masked, everything else 0
#elif defined(__aarch64__)
  const uint64_t fpcr = 0;
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

}  // namespace hearth
