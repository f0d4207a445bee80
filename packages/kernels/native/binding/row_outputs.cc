#include "binding/row_outputs.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "binding/arguments.h"
#include "runtime/failure.h"

namespace hearth {
namespace {

constexpr double kLargestDouble = 0x1.fffffffffffffp1023;
constexpr double kLargestWhole = 9007199254740992.0;
constexpr double kLargestWord = 4294967295.0;
constexpr float kLargestBias = 100.0f;

/// The numbers of one row, in their order.
enum Number {
  kKind,
  kLogprobTokenId,
  kTemperature,
  kTopK,
  kTopP,
  kMinP,
  kTypicalP,
  kSeedLow,
  kSeedHigh,
  kChoiceIndex,
  kNumCompletionTokens,
  kRepetitionPenalty,
  kNumRecent,
  kFrequencyPenalty,
  kPresencePenalty,
  kNumGenerated,
  kNumBiased,
  kHasMask,
  kNumNumbers,
};

/// Reads row after row out of the arrays that all rows share.
class RowReader {
 public:
  RowReader(const Napi::Value& rows, int64_t num_rows, const RowOutputMemory& memory) : memory_(memory) {
    require(rows.IsObject(), "rows must be an object.");
    const Napi::Object object = rows.As<Napi::Object>();
    // All of JavaScript first, then the addresses: a getter might detach an array that was looked at before it.
    const Napi::Value arrays[4] = {object.Get("numbers"), object.Get("tokenIds"), object.Get("biases"), object.Get("masks")};
    numbers_ = double_array_argument(arrays[0], "numbers");
    token_ids_ = int32_array_argument(arrays[1], "tokenIds");
    biases_ = float_array_argument(arrays[2], "biases");
    masks_ = int32_array_argument(arrays[3], "masks");
    require(numbers_.size == num_rows * kNumNumbers, "rows has ", numbers_.size, " numbers for ", num_rows, " output rows of ",
            static_cast<int>(kNumNumbers), ".");
  }

  void read(int64_t row, RowOutput& wanted) {
    row_ = row;
    const bool follows_hidden = row > 0 && memory_.wanted[row - 1].kind == RowOutputKind::hidden;
    wanted.kind = static_cast<RowOutputKind>(whole(kKind, 3.0, "kind"));
    require(!follows_hidden || wanted.kind == RowOutputKind::hidden, "Output rows of the kind hidden must come last, but row ", row,
            " after one is of another.");
    if (wanted.kind == RowOutputKind::logprob) {
      wanted.token_id = static_cast<int32_t>(whole(kLogprobTokenId, static_cast<double>(memory_.vocab_size - 1), "tokenId"));
    } else if (wanted.kind == RowOutputKind::sample) {
      wanted.sampling = sampling();
    }
  }

  void finish() const {
    require(num_token_ids_ == token_ids_.size && num_biases_ == biases_.size && num_mask_words_ == masks_.size,
            "tokenIds, biases or masks are longer than the output rows say.");
  }

 private:
  double number(Number which, double least, double most, const char* name) const {
    const double value = numbers_.data[row_ * kNumNumbers + which];
    require(value >= least && value <= most, name, " of output row ", row_, " must be ", least, " to ", most, ", got ", value, ".");
    return value;
  }

  /// From 0 to 2^53 or less.
  uint64_t whole(Number which, double most, const char* name) const {
    const double value = number(which, 0.0, most, name);
    require(value == std::floor(value), name, " of output row ", row_, " must be a whole number, got ", value, ".");
    return static_cast<uint64_t>(value);
  }

  SamplingParams sampling() {
    SamplingParams p;
    p.temperature = number(kTemperature, 0.0, kLargestDouble, "temperature");
    p.top_k = static_cast<int64_t>(whole(kTopK, kLargestWhole, "topK"));
    p.top_p = static_cast<float>(number(kTopP, 0.0, 1.0, "topP"));
    p.min_p = static_cast<float>(number(kMinP, 0.0, 1.0, "minP"));
    p.typical_p = number(kTypicalP, 0.0, 1.0, "typicalP");
    p.seed = whole(kSeedLow, kLargestWord, "seed (low word)") | whole(kSeedHigh, kLargestWord, "seed (high word)") << 32;
    p.choice_index = static_cast<uint32_t>(whole(kChoiceIndex, kLargestWord, "choiceIndex"));
    p.num_completion_tokens = static_cast<int64_t>(whole(kNumCompletionTokens, kLargestWhole, "numCompletionTokens"));
    p.repetition_penalty = static_cast<float>(number(kRepetitionPenalty, FLT_MIN, FLT_MAX, "repetitionPenalty"));
    p.frequency_penalty = static_cast<float>(number(kFrequencyPenalty, -2.0, 2.0, "frequencyPenalty"));
    p.presence_penalty = static_cast<float>(number(kPresencePenalty, -2.0, 2.0, "presencePenalty"));
    read_history(p);
    read_biases(p);
    if (whole(kHasMask, 1.0, "hasMask") != 0) read_mask(p);
    return p;
  }

  /// Both kinds of penalties look at the last tokens of one list.
  void read_history(SamplingParams& p) {
    const double longest = static_cast<double>(memory_.context_length);
    p.recent.count = static_cast<int64_t>(whole(kNumRecent, longest, "numRecent"));
    p.generated.count = static_cast<int64_t>(whole(kNumGenerated, longest, "numGenerated"));
    const int64_t count = std::max(p.recent.count, p.generated.count);
    const int32_t* end = take_token_ids(count) + count;
    p.recent.ids = end - p.recent.count;
    p.generated.ids = end - p.generated.count;
  }

  void read_biases(SamplingParams& p) {
    const int64_t count = static_cast<int64_t>(whole(kNumBiased, static_cast<double>(memory_.vocab_size), "numBiased"));
    p.biased = {take_token_ids(count), count};
    float* to = memory_.biases.data() + num_biases_;
    require(biases_.size - num_biases_ >= count, "biases is too short for output row ", row_, ".");
    for (int64_t i = 0; i < count; ++i) {
      const float bias = biases_.data[num_biases_ + i];
      require(bias >= -kLargestBias && bias <= kLargestBias, "A bias of output row ", row_, " must be -100 to 100, got ", bias, ".");
      to[i] = bias;
    }
    num_biases_ += count;
    p.biases = to;
  }

  void read_mask(SamplingParams& p) {
    const int64_t count = num_mask_words(memory_.vocab_size);
    require(masks_.size - num_mask_words_ >= count, "masks is too short for output row ", row_, ".");
    uint32_t* to = memory_.masks.data() + num_mask_words_;
    std::memcpy(to, masks_.data + num_mask_words_, static_cast<std::size_t>(count) * sizeof(uint32_t));
    num_mask_words_ += count;
    p.mask = to;
  }

  /// Copies the next `count` token ids, checked.
  const int32_t* take_token_ids(int64_t count) {
    require(token_ids_.size - num_token_ids_ >= count, "tokenIds is too short for output row ", row_, ".");
    const int32_t* from = token_ids_.data + num_token_ids_;
    int32_t* to = memory_.token_ids.data() + num_token_ids_;
    for (int64_t i = 0; i < count; ++i) {
      require(from[i] >= 0 && from[i] < memory_.vocab_size, "Token id ", from[i], " of output row ", row_,
              " is outside the vocabulary of ", memory_.vocab_size, ".");
      to[i] = from[i];
    }
    num_token_ids_ += count;
    return to;
  }

  const RowOutputMemory& memory_;
  DoubleSpan numbers_;
  Int32Span token_ids_;
  FloatSpan biases_;
  Int32Span masks_;
  int64_t row_ = 0;
  int64_t num_token_ids_ = 0;
  int64_t num_biases_ = 0;
  int64_t num_mask_words_ = 0;
};

}  // namespace

void read_row_outputs(const Napi::Value& rows, int64_t num_rows, const RowOutputMemory& memory) {
  RowReader reader(rows, num_rows, memory);
  for (int64_t row = 0; row < num_rows; ++row) reader.read(row, memory.wanted[row]);
  reader.finish();
}

}  // namespace hearth
