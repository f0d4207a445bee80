#pragma once

// The variants of the kernels, best first, and the choice among them.

#include <string>
#include <vector>

#include "kernels/kernel_table.h"

namespace hearth {

struct Variant {
  const char* name;
  const char* description;
  /// Bits of CpuFeature.
  uint32_t required_features;
  const KernelTable& (*kernels)();
};

/// Built into this addon, best first. The last one runs everywhere.
const std::vector<Variant>& all_variants();

bool is_supported(const Variant& variant);

/// The named variant, or the best supported one when `name` is empty.
/// Throws Failure(kInvalidArgument) that lists what there is when the name is unknown or this processor cannot run it.
const Variant& choose_variant(const std::string& name);

}  // namespace hearth
