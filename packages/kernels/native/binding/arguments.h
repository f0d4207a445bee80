#pragma once

// Arguments from JavaScript, checked. Each function throws Failure(kInvalidArgument) that names the argument. Nothing here
// allocates when the argument is right, because steps use it.

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/failure.h"
#include "step/batch.h"

namespace hearth {

int32_t int32_argument(const Napi::Value& value, const char* name);
/// A whole number of magnitude up to 2^53.
int64_t int64_argument(const Napi::Value& value, const char* name);
std::string string_argument(const Napi::Value& value, const char* name);
bool boolean_argument(const Napi::Value& value, const char* name);
Napi::Array array_argument(const Napi::Value& value, const char* name);

/// The elements of a typed array of exactly this type. Valid until JavaScript runs again.
Int32Span int32_array_argument(const Napi::Value& value, const char* name);
struct FloatSpan {
  float* data;
  int64_t size;
};
FloatSpan float_array_argument(const Napi::Value& value, const char* name);
struct DoubleSpan {
  const double* data;
  int64_t size;
};
DoubleSpan double_array_argument(const Napi::Value& value, const char* name);
struct ByteSpan {
  uint8_t* data;
  int64_t size;
};
ByteSpan byte_array_argument(const Napi::Value& value, const char* name);

std::vector<int32_t> copy_of(const Int32Span& span);

/// The native object behind a JavaScript one. Objects carry a type tag, so that a stranger is refused and not cast.
template <class T>
T& unwrap_argument(const Napi::Value& value, const char* name) {
  require(value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&T::kTypeTag), name, " is not what this addon made.");
  return *Napi::ObjectWrap<T>::Unwrap(value.As<Napi::Object>());
}

}  // namespace hearth
