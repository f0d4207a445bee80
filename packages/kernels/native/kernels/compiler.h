#pragma once

// Compiler differences that the kernels meet.
//
// HEARTH_PREFETCH asks for a cache line in the second-level cache: more lines can be on their way there than to the first
// level, which reads memory almost twice as fast (22 against 13 GB/s where every other line is taken, on Zen 4).

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#define HEARTH_INLINE __forceinline
#define HEARTH_RESTRICT __restrict
#define HEARTH_UNLIKELY(condition) (condition)
#define HEARTH_UNROLL
#if defined(_M_X64)
#include <xmmintrin.h>
#define HEARTH_PREFETCH(address) _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T1)
#else
#define HEARTH_PREFETCH(address) static_cast<void>(address)
#endif
#else
#define HEARTH_INLINE inline __attribute__((always_inline))
#define HEARTH_RESTRICT __restrict__
#define HEARTH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HEARTH_PREFETCH(address) __builtin_prefetch(address, 0, 2)
// Register tiles are loops with small constant bounds; without full unrolling their accumulators live in memory. The
// portable variant has no registers to keep them in, and unrolled it takes GCC minutes and a gigabyte to compile.
#if defined(HEARTH_NO_UNROLL)
#define HEARTH_UNROLL
#elif defined(__clang__)
#define HEARTH_UNROLL _Pragma("unroll")
#else
#define HEARTH_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

namespace hearth {

/// Bytes that a prefetch brings.
constexpr int64_t kLineBytes = 64;

}  // namespace hearth
