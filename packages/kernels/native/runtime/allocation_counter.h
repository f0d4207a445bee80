#pragma once

#include <cstdint>

namespace hearth {

/// Heap allocations that this addon has made so far, on all threads: every operator new of its code (the operators are
/// overridden, for this addon alone, where the linker can keep them to it) and every AlignedBuffer. Steps after the first
/// must not move it; a test holds that.
uint64_t allocation_count();

/// Called by allocators that do not go through operator new.
void count_allocation();

}  // namespace hearth
