#pragma once

// What one call of a kernel has written and returned, so that two variants can be compared bit by bit.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

/// How values are compared and shown: bits, except that all NaN of a float type are equal.
enum class ValueKind { f32, f16, integer };

class Results {
 public:
  /// Room for `count` values, to be written by the kernel. It starts with a number that no kernel writes, and more of them
  /// follow, so that a store past the end is a difference too. Aligned to 64 bytes.
  float* floats(const char* name, int64_t count) { return static_cast<float*>(add(name, ValueKind::f32, 4, count)); }
  uint16_t* halves(const char* name, int64_t count) { return static_cast<uint16_t*>(add(name, ValueKind::f16, 2, count)); }
  int32_t* integers(const char* name, int64_t count) { return static_cast<int32_t*>(add(name, ValueKind::integer, 4, count)); }
  int8_t* bytes(const char* name, int64_t count) { return static_cast<int8_t*>(add(name, ValueKind::integer, 1, count)); }

  void add_flag(const char* name, bool value) { *integers(name, 1) = value ? 1 : 0; }
  void add_integer(const char* name, int32_t value) { *integers(name, 1) = value; }
  void add_float(const char* name, float value) { *floats(name, 1) = value; }

  int64_t num_values() const {
    int64_t count = 0;
    for (const Array& array : arrays_) count += array.count;
    return count;
  }

  /// The first difference from what is expected, as "out[3] is ..., expected ...", or an empty string.
  std::string difference(const Results& expected) const {
    if (arrays_.size() != expected.arrays_.size()) return "the kernels wrote different numbers of arrays";
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Array& got = arrays_[a];
      const Array& want = expected.arrays_[a];
      for (int64_t i = 0; i < got.count + kGuards; ++i) {
        if (got.canonical(i) == want.canonical(i)) continue;
        const std::string place = i < got.count ? "" : " (past the end)";
        return got.name + "[" + std::to_string(i) + "]" + place + " is " + got.shown(i) + ", expected " + want.shown(i);
      }
    }
    return "";
  }

  /// Mixes all values into a digest (FNV-1a), which is the same on every machine.
  void add_to_digest(uint64_t* digest) const {
    for (const Array& array : arrays_) {
      for (int64_t i = 0; i < array.count; ++i) *digest = (*digest ^ array.canonical(i)) * 0x100000001b3u;
    }
  }

 private:
  static constexpr int64_t kGuards = 16;

  struct Array {
    std::string name;
    ValueKind kind;
    int64_t value_bytes;
    int64_t count;
    std::vector<unsigned char> storage;
    std::size_t start;

    uint32_t bits(int64_t i) const {
      uint32_t bits = 0;
      std::memcpy(&bits, storage.data() + start + static_cast<std::size_t>(i * value_bytes), static_cast<std::size_t>(value_bytes));
      return bits;
    }
    /// The bits, with one NaN for all.
    uint32_t canonical(int64_t i) const {
      const uint32_t x = bits(i);
      if (kind == ValueKind::f32 && (x & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
      if (kind == ValueKind::f16 && (x & 0x7fffu) > 0x7c00u) return 0x7e00u;
      return x;
    }
    std::string shown(int64_t i) const {
      char text[64];
      const uint32_t x = bits(i);
      if (kind == ValueKind::f32) {
        float value;
        std::memcpy(&value, &x, sizeof value);
        std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(value), x);
      } else if (kind == ValueKind::f16) {
        std::snprintf(text, sizeof text, "the half 0x%04x", x);
      } else {
        const int32_t value = value_bytes == 1 ? static_cast<int8_t>(x) : static_cast<int32_t>(x);
        std::snprintf(text, sizeof text, "%d", value);
      }
      return text;
    }
  };

  void* add(const char* name, ValueKind kind, int64_t value_bytes, int64_t count) {
    constexpr std::size_t kAlignment = 64;
    // Bytes of 0xc4: -1568.97... as f32, and -4.76 as f16, neither NaN.
    std::vector<unsigned char> storage(static_cast<std::size_t>((count + kGuards) * value_bytes) + kAlignment, 0xc4);
    const std::size_t start = kAlignment - reinterpret_cast<std::uintptr_t>(storage.data()) % kAlignment;
    void* values = storage.data() + start;
    arrays_.push_back(Array{name, kind, value_bytes, count, std::move(storage), start});
    return values;
  }

  std::vector<Array> arrays_;
};

}  // namespace hearth
