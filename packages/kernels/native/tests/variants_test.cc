// Compares every entry of the kernel tables of all variants that run here with the portable one's, to the bit: results and
// return values, on random and awkward inputs. Exits with 1 after the first differences, each on a line of its own.
//
//   variants_test              all variants that this processor supports
//   variants_test neon-i8mm    these alone; one that it does not support is an error
//
// Built and run by scripts/test-variants.mjs, for this machine and for others. The digest of the portable results, which are
// the same everywhere, tells whether two machines agree.

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "variants/comparison.h"
#include "variants/tested_variants.h"

namespace {

bool is_named(const hearth::Variant& variant, int num_names, char** names) {
  for (int i = 0; i < num_names; ++i) {
    if (std::strcmp(names[i], variant.name) == 0) return true;
  }
  return false;
}

/// Those named, or all when there is no name.
std::vector<hearth::Variant> chosen_variants(int num_names, char** names) {
  std::vector<hearth::Variant> chosen;
  for (const hearth::Variant& variant : hearth::tested_variants()) {
    if (num_names == 0 || is_named(variant, num_names, names)) chosen.push_back(variant);
  }
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<hearth::Variant> variants = chosen_variants(argc - 1, argv + 1);
  if (argc > 1 && variants.size() != static_cast<std::size_t>(argc - 1)) {
    std::fprintf(stderr, "Not all of these variants can be tested here. There are:");
    for (const hearth::Variant& variant : hearth::tested_variants()) std::fprintf(stderr, " %s", variant.name);
    std::fprintf(stderr, "\n");
    return 1;
  }
  std::printf("variants:");
  for (const hearth::Variant& variant : variants) std::printf(" %s", variant.name);
  std::printf("\n");
  try {
    hearth::Comparison comparison(variants);
    hearth::compare_elementary(comparison);
    hearth::compare_rows(comparison);
    hearth::compare_linear(comparison);
    hearth::compare_attention(comparison);
    hearth::compare_peaks(comparison);
    return comparison.finish() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "variants_test: %s\n", error.what());
    return 1;
  }
}
