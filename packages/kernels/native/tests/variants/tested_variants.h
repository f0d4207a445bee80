#pragma once

#include <vector>

#include "kernels/dispatch.h"

namespace hearth {

/// What this program can run: the variants of all_variants() that the processor supports, the portable one too, and those
/// that exist for tests alone.
std::vector<Variant> tested_variants();

#if defined(HEARTH_TESTS_EMULATED_VNNI)
// Those for tests alone (emulated_vnni.h).
const KernelTable& emulated_vnni_kernels();
const KernelTable& emulated_vnni16_kernels();
#endif

}  // namespace hearth
