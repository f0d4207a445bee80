#include "binding/errors.h"

namespace hearth {

Napi::Error make_error(Napi::Env env, const char* code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("code", Napi::String::New(env, code));
  return error;
}

}  // namespace hearth
