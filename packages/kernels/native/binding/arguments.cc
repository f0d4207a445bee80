#include "binding/arguments.h"

#include <cmath>

namespace hearth {
namespace {

template <class Array>
Array typed_array(const Napi::Value& value, napi_typedarray_type type, const char* name, const char* type_name) {
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type, name, " must be ", type_name, ".");
  return value.As<Array>();
}

}  // namespace

int64_t int64_argument(const Napi::Value& value, const char* name) {
  require(value.IsNumber(), name, " must be a number.");
  const double number = value.As<Napi::Number>().DoubleValue();
  require(number == std::floor(number) && std::fabs(number) <= 9007199254740992.0, name, " must be a whole number, got ", number, ".");
  return static_cast<int64_t>(number);
}

int32_t int32_argument(const Napi::Value& value, const char* name) {
  const int64_t number = int64_argument(value, name);
  require(number == static_cast<int32_t>(number), name, " is outside 32 bits: ", number, ".");
  return static_cast<int32_t>(number);
}

std::string string_argument(const Napi::Value& value, const char* name) {
  require(value.IsString(), name, " must be a string.");
  return value.As<Napi::String>().Utf8Value();
}

bool boolean_argument(const Napi::Value& value, const char* name) {
  require(value.IsBoolean(), name, " must be a boolean.");
  return value.As<Napi::Boolean>().Value();
}

Napi::Array array_argument(const Napi::Value& value, const char* name) {
  require(value.IsArray(), name, " must be an array.");
  return value.As<Napi::Array>();
}

Int32Span int32_array_argument(const Napi::Value& value, const char* name) {
  const Napi::Int32Array array = typed_array<Napi::Int32Array>(value, napi_int32_array, name, "an Int32Array");
  return {array.Data(), static_cast<int64_t>(array.ElementLength())};
}

FloatSpan float_array_argument(const Napi::Value& value, const char* name) {
  Napi::Float32Array array = typed_array<Napi::Float32Array>(value, napi_float32_array, name, "a Float32Array");
  return {array.Data(), static_cast<int64_t>(array.ElementLength())};
}

DoubleSpan double_array_argument(const Napi::Value& value, const char* name) {
  Napi::Float64Array array = typed_array<Napi::Float64Array>(value, napi_float64_array, name, "a Float64Array");
  return {array.Data(), static_cast<int64_t>(array.ElementLength())};
}

ByteSpan byte_array_argument(const Napi::Value& value, const char* name) {
  Napi::Uint8Array array = typed_array<Napi::Uint8Array>(value, napi_uint8_array, name, "a Uint8Array");
  return {array.Data(), static_cast<int64_t>(array.ElementLength())};
}

std::vector<int32_t> copy_of(const Int32Span& span) { return std::vector<int32_t>(span.data, span.data + span.size); }

}  // namespace hearth
