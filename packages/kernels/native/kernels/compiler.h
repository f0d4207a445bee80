#pragma once

// Compiler differences that the kernels meet.

#if defined(_MSC_VER) && !defined(__clang__)
#define HEARTH_INLINE __forceinline
#define HEARTH_RESTRICT __restrict
#define HEARTH_UNLIKELY(condition) (condition)
#define HEARTH_UNROLL
#else
#define HEARTH_INLINE inline __attribute__((always_inline))
#define HEARTH_RESTRICT __restrict__
#define HEARTH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
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
