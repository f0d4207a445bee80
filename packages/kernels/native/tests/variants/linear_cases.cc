// Products with weights of every type: tokens, tiles and partial last tiles in numbers around those of register blocks.

#include <algorithm>
#include <string>
#include <vector>

#include "variants/comparison.h"
#include "variants/inputs.h"
#include "variants/random_blocks.h"

namespace hearth {
namespace {

/// Tiles 1 .. 9, whole and partial.
constexpr int64_t kRows[] = {1, 8, 13, 24, 31, 40, 42, 56, 63, 72};
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
constexpr int64_t kMostTokens = 17;

/// A matrix, activations for it, and where the results go.
struct Product {
  Dtype dtype;
  int64_t rows;
  int64_t columns;
  const uint8_t* packed;
  const std::vector<float>& x;
  int64_t x_stride;
  const float* bias;
};

/// Tokens [first_token, first_token + num_tokens) against tiles [first_tile, last_tile), quantized by the same variant.
void run_product(const Product& p, const KernelTable& k, Results& r, int64_t first_token, int64_t num_tokens, int64_t first_tile,
                 int64_t last_tile) {
  const int64_t last_token = first_token + num_tokens;
  LinearTask task{};
  task.packed = p.packed;
  task.rows = p.rows;
  task.columns = p.columns;
  task.first_tile = first_tile;
  task.last_tile = last_tile;
  task.first_token = first_token;
  task.last_token = last_token;
  task.x = p.x.data();
  task.x_stride = p.x_stride;
  task.bias = p.bias;
  task.out_stride = p.rows + 3;
  task.out = r.floats("out", last_token * task.out_stride);
  std::vector<ActivationBlock> blocks;
  if (is_quantized(p.dtype)) {
    const int64_t num_blocks = p.columns / kBlockElements;
    blocks.resize(static_cast<std::size_t>(last_token * num_blocks));
    for (int64_t t = 0; t < last_token; ++t) k.quantize_row(p.x.data() + t * p.x_stride, num_blocks, blocks.data() + t * num_blocks);
    task.x_blocks = blocks.data();
  }
  r.add_flag("is finite", k.linear[static_cast<int>(p.dtype)](task));
}

/// All numbers of rows with all numbers of tokens, now and then with a bias, a later first token and fewer tiles.
void compare_shapes(Comparison& comparison, Dtype dtype, int64_t columns, Random& random) {
  const std::vector<float> bias = random_floats(random, 72, 3.0f);
  const int64_t x_stride = columns + 5;
  const std::vector<float> x = random_floats(random, (kMostTokens + 2) * x_stride, 2.0f);
  int round = 0;
  for (const int64_t rows : kRows) {
    const PackedMatrix matrix(dtype, rows, columns, random);
    const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    for (const int64_t num_tokens : kTokens) {
      ++round;
      const Product product{dtype, rows, columns, matrix.data(), x, x_stride, round % 2 == 0 ? bias.data() : nullptr};
      const int64_t first_token = round % 3 == 0 ? 2 : 0;
      const int64_t first_tile = round % 5 == 0 ? tiles / 2 : 0;
      comparison.compare(text_of(num_tokens, " tokens, ", rows, " rows from tile ", first_tile, ", ", columns, " columns"),
                         [&](const KernelTable& k, Results& r) { run_product(product, k, r, first_token, num_tokens, first_tile, tiles); });
    }
  }
}

/// More tokens than share a panel.
void compare_many_tokens(Comparison& comparison, Dtype dtype, int64_t columns, Random& random) {
  constexpr int64_t kManyTokens = 71;
  const PackedMatrix matrix(dtype, 31, columns, random);
  const std::vector<float> x = random_floats(random, kManyTokens * columns, 2.0f);
  const Product product{dtype, 31, columns, matrix.data(), x, columns, nullptr};
  comparison.compare(text_of(kManyTokens, " tokens"),
                     [&](const KernelTable& k, Results& r) { run_product(product, k, r, 0, kManyTokens, 0, 4); });
}

/// Activations whose codes are all 127 or -127 against codes of one byte: sums at their ends.
void compare_extremes(Comparison& comparison, Dtype dtype, int64_t columns, Random& random) {
  for (const int code_byte : {0x00, 0x7f, 0x80, 0xff}) {
    const PackedMatrix matrix(dtype, 17, columns, random, code_byte);
    for (const float size : {1.0f, -1.0f}) {
      const std::vector<float> x(static_cast<std::size_t>(4 * columns), size);
      const Product product{dtype, 17, columns, matrix.data(), x, columns, nullptr};
      comparison.compare(text_of("codes of byte ", code_byte, ", activations ", size),
                         [&](const KernelTable& k, Results& r) { run_product(product, k, r, 0, 4, 0, 3); });
    }
  }
}

/// Rows with an infinite or NaN activation, or sums that overflow: the return value.
void compare_spoilt(Comparison& comparison, Dtype dtype, int64_t columns, Random& random) {
  const PackedMatrix matrix(dtype, 13, columns, random);
  for (int round = 0; round < 8; ++round) {
    const std::vector<float> x = spoilt_floats(random, 3 * columns);
    const Product product{dtype, 13, columns, matrix.data(), x, columns, nullptr};
    comparison.compare(text_of("a spoilt value, round ", round),
                       [&](const KernelTable& k, Results& r) { run_product(product, k, r, 0, 3, 0, 2); });
  }
}

}  // namespace

void compare_linear(Comparison& comparison) {
  for (int32_t i = 0; i < kNumDtypes; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    Random random(40 + static_cast<uint64_t>(i));
    const DtypeInfo& info = dtype_info(dtype);
    comparison.start(text_of("linear ", info.name), &KernelTable::linear, i);
    if (info.block_elements == 1) {
      compare_shapes(comparison, dtype, 129, random);
      for (const int64_t columns : kAwkwardWidths) {
        const PackedMatrix matrix(dtype, 13, columns, random);
        const std::vector<float> x = awkward_floats(random, 3 * columns);
        const Product product{dtype, 13, columns, matrix.data(), x, columns, nullptr};
        comparison.compare(text_of("3 tokens, 13 rows, ", columns, " columns"),
                           [&](const KernelTable& k, Results& r) { run_product(product, k, r, 0, 3, 0, 2); });
      }
      compare_spoilt(comparison, dtype, 33, random);
      continue;
    }
    // More chunks of 32 than a panel of unpacked weights holds.
    const int64_t most_columns = info.block_elements == 256 ? 512 : 384;
    for (const int64_t columns : {int64_t{info.block_elements}, most_columns}) compare_shapes(comparison, dtype, columns, random);
    compare_many_tokens(comparison, dtype, most_columns, random);
    compare_extremes(comparison, dtype, 2 * info.block_elements, random);
    if (!is_quantized(dtype)) compare_spoilt(comparison, dtype, info.block_elements, random);
  }
}

}  // namespace hearth
