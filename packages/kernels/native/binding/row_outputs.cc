#include "binding/row_outputs.h"

#include <cmath>

#include "binding/arguments.h"
#include "runtime/failure.h"

namespace hearth {
namespace {

double number_between(double value, double least, double most, const char* name, int64_t row) {
  require(value >= least && value <= most, name, " of output row ", row, " must be ", least, " to ", most, ", got ", value, ".");
  return value;
}

/// A whole number from 0 to 2^53 or less.
uint64_t whole_number(double value, double most, const char* name, int64_t row) {
  number_between(value, 0.0, most, name, row);
  require(value == std::floor(value), name, " of output row ", row, " must be a whole number, got ", value, ".");
  return static_cast<uint64_t>(value);
}

SamplingParams sampling_params(const double* n, int64_t row) {
  constexpr double kLargestDouble = 0x1.fffffffffffffp1023;
  constexpr double kLargestWhole = 9007199254740992.0;
  constexpr double kLargestWord = 4294967295.0;
  SamplingParams p;
  p.temperature = number_between(n[0], 0.0, kLargestDouble, "temperature", row);
  p.top_k = static_cast<int64_t>(whole_number(n[1], kLargestWhole, "topK", row));
  p.top_p = static_cast<float>(number_between(n[2], 0.0, 1.0, "topP", row));
  p.min_p = static_cast<float>(number_between(n[3], 0.0, 1.0, "minP", row));
  p.seed = whole_number(n[4], kLargestWord, "seed (low word)", row) | whole_number(n[5], kLargestWord, "seed (high word)", row) << 32;
  p.choice_index = static_cast<uint32_t>(whole_number(n[6], kLargestWord, "choiceIndex", row));
  p.num_completion_tokens = static_cast<int64_t>(whole_number(n[7], kLargestWhole, "numCompletionTokens", row));
  return p;
}

}  // namespace

void read_row_outputs(const Napi::Value& rows, int64_t num_rows, int64_t vocab_size, RowOutput* wanted) {
  const DoubleSpan numbers = double_array_argument(rows, "rows");
  require(numbers.size == num_rows * kRowOutputNumbers, "rows has ", numbers.size, " numbers for ", num_rows, " output rows of ",
          kRowOutputNumbers, ".");
  for (int64_t row = 0; row < num_rows; ++row) {
    const double* n = numbers.data + row * kRowOutputNumbers;
    RowOutput& w = wanted[row];
    w.kind = static_cast<RowOutputKind>(whole_number(n[0], 2.0, "kind", row));
    if (w.kind == RowOutputKind::logprob) {
      w.token_id = static_cast<int32_t>(whole_number(n[1], static_cast<double>(vocab_size - 1), "tokenId", row));
    } else if (w.kind == RowOutputKind::sample) {
      w.sampling = sampling_params(n + 1, row);
    }
  }
}

}  // namespace hearth
