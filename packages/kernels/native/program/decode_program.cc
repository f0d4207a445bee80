#include "program/decode_program.h"

#include <cstring>
#include <limits>
#include <utility>

#include "runtime/failure.h"

namespace hearth {
namespace {

/// First word. Raised with every change of the encoding, here and in src/encode-program.ts.
constexpr int32_t kEncodingVersion = 2;

class WordReader {
 public:
  WordReader(const int32_t* words, int64_t num_words) : words_(words), num_words_(num_words) {}

  int32_t integer() {
    require(at_ < num_words_, "The encoded program ends after ", num_words_, " words, in the middle of a record.");
    return words_[at_++];
  }
  int64_t not_negative(const char* what) {
    const int32_t value = integer();
    require(value >= 0, "The ", what, " is ", value, ", which is negative.");
    return value;
  }
  /// The number of records to come, each of at least one word.
  int64_t count(const char* what) {
    const int64_t n = not_negative(what);
    require(n <= num_words_ - at_, "There are ", n, " ", what, ", but only ", num_words_ - at_, " words are left.");
    return n;
  }
  /// The bits of an f32.
  float real() {
    const int32_t bits = integer();
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  /// A number below `count`, of an enum.
  template <class Enum>
  Enum one_of(int32_t count, const char* what) {
    const int32_t value = integer();
    require(value >= 0 && value < count, "There is no ", what, " ", value, ".");
    return static_cast<Enum>(value);
  }
  RowKind row_kind() { return one_of<RowKind>(kNumRowKinds, "row kind"); }
  ActivationFunction activation_function() {
    return one_of<ActivationFunction>(kNumActivationFunctions, "activation function");
  }
  View view() {
    View v;
    v.buffer = integer();
    v.column = not_negative("column of a view");
    v.width = not_negative("width of a view");
    return v;
  }
  bool at_end() const { return at_ == num_words_; }

 private:
  const int32_t* words_;
  int64_t num_words_;
  int64_t at_ = 0;
};

void read(WordReader& words, EmbedOp& op) {
  op.weight = words.integer();
  op.ids = words.one_of<EmbedIds>(2, "kind of embedded ids");
  op.scale = words.real();
  op.out = words.view();
}
void read(WordReader& words, RopeTableOp& op) {
  op.rope = words.integer();
  op.out = words.view();
}
void read(WordReader& words, RmsNormOp& op) {
  op.x = words.view();
  op.weight = words.integer();
  op.eps = words.real();
  op.out = words.view();
}
void read(WordReader& words, LayerNormOp& op) {
  op.x = words.view();
  op.weight = words.integer();
  op.bias = words.integer();
  op.eps = words.real();
  op.out = words.view();
}
void read(WordReader& words, AddRmsNormOp& op) {
  op.residual = words.view();
  op.delta = words.view();
  op.weight = words.integer();
  op.eps = words.real();
  op.out = words.view();
}
void read(WordReader& words, AddOp& op) {
  op.residual = words.view();
  op.delta = words.view();
}
void read(WordReader& words, LinearOp& op) {
  op.x = words.view();
  op.out = words.view();
  const int64_t num_parts = words.count("matrices of a linear op");
  for (int64_t i = 0; i < num_parts; ++i) {
    LinearOp::Part part;
    part.weight = words.integer();
    part.bias = words.integer();
    op.parts.push_back(part);
  }
}
void read(WordReader& words, RopeOp& op) {
  op.x = words.view();
  op.table = words.view();
  op.head_dim = words.integer();
  op.rotary_dim = words.integer();
}
void read(WordReader& words, WriteCacheOp& op) {
  op.layer = words.integer();
  op.k = words.view();
  op.v = words.view();
}
void read(WordReader& words, AttentionOp& op) {
  op.layer = words.integer();
  op.q = words.view();
  op.out = words.view();
  op.num_heads = words.integer();
  op.scale = words.real();
  const int64_t window = words.not_negative("window");
  op.window = window == 0 ? std::numeric_limits<int32_t>::max() : static_cast<int32_t>(window);
  op.softcap = words.real();
}
void read(WordReader& words, ActivationOp& op) {
  op.function = words.activation_function();
  op.x = words.view();
  op.out = words.view();
}
void read(WordReader& words, GatedActivationOp& op) {
  op.function = words.activation_function();
  op.gate = words.view();
  op.up = words.view();
  op.out = words.view();
}
void read(WordReader& words, SoftcapOp& op) {
  op.x = words.view();
  op.cap = words.real();
}
void read(WordReader& words, MoeMlpOp& op) {
  op.x = words.view();
  op.router_logits = words.view();
  op.out = words.view();
  op.function = words.activation_function();
  op.num_experts_per_token = words.integer();
  op.normalize_weights = words.integer() != 0;
  for (int64_t n = words.count("experts"); n > 0; --n) {
    MoeMlpOp::Expert expert;
    expert.gate = words.integer();
    expert.up = words.integer();
    expert.down = words.integer();
    op.experts.push_back(expert);
  }
}
void read(WordReader& words, GatherRowsOp& op) {
  op.x = words.view();
  op.out = words.view();
}
void read(WordReader& words, CaptureOp& op) {
  op.x = words.view();
  op.capture = words.integer();
}

template <class T>
Op read_as(WordReader& words) {
  T op{};
  read(words, op);
  return op;
}

template <std::size_t... kinds>
Op read_op(WordReader& words, int32_t kind, std::index_sequence<kinds...>) {
  using Read = Op (*)(WordReader&);
  static constexpr Read readers[] = {read_as<std::variant_alternative_t<kinds, Op>>...};
  require(kind >= 0 && kind < static_cast<int32_t>(sizeof...(kinds)), "There is no op kind ", kind, ".");
  return readers[kind](words);
}

}  // namespace

Program decode_program(const int32_t* data, int64_t num_words) {
  WordReader words(data, num_words);
  const int32_t version = words.integer();
  require(version == kEncodingVersion, "The program is encoded in version ", version, ", this addon reads ", kEncodingVersion,
          ". The package and its binary do not belong together: rebuild with `pnpm build:native`.");
  Program program;
  program.vocab_size = words.not_negative("vocabulary size");
  program.hidden_size = words.not_negative("hidden size");
  program.context_length = words.not_negative("context length");
  for (int64_t& width : program.arena_width) width = words.not_negative("arena width");

  for (int64_t n = words.count("buffers"); n > 0; --n) {
    Buffer buffer;
    buffer.rows = words.row_kind();
    buffer.width = words.not_negative("width of a buffer");
    buffer.offset = words.not_negative("offset of a buffer");
    program.buffers.push_back(buffer);
  }
  for (int64_t n = words.count("rotary embeddings"); n > 0; --n) {
    Rope rope;
    rope.attention_scaling = words.real();
    const int64_t num_pairs = words.count("rotary frequencies");
    rope.rotary_dim = 2 * num_pairs;
    for (int64_t i = 0; i < num_pairs; ++i) rope.inv_freq.push_back(words.real());
    program.ropes.push_back(std::move(rope));
  }
  for (int64_t n = words.count("cache groups"); n > 0; --n) {
    program.cache_groups.push_back(static_cast<int32_t>(words.not_negative("window")));
  }
  for (int64_t n = words.count("cache layers"); n > 0; --n) {
    CacheLayer layer;
    layer.num_kv_heads = words.integer();
    layer.head_dim = words.integer();
    layer.group = words.integer();
    program.cache_layers.push_back(layer);
  }
  for (int64_t n = words.count("captures"); n > 0; --n) {
    Capture capture;
    capture.rows = words.row_kind();
    capture.width = words.not_negative("width of a capture");
    program.captures.push_back(capture);
  }
  program.hidden = words.view();
  program.logits = words.view();
  for (int64_t n = words.count("ops"); n > 0; --n) {
    const int32_t kind = words.integer();
    program.ops.push_back(read_op(words, kind, std::make_index_sequence<std::variant_size_v<Op>>()));
  }
  require(words.at_end(), "The encoded program goes on after its last op.");
  return program;
}

}  // namespace hearth
