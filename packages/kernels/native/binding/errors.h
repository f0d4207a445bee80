#pragma once

#include <napi.h>

#include <string>

#include "runtime/failure.h"

namespace hearth {

/// A JavaScript Error with a `code`, which src/native-errors.ts turns into the HearthError of that code.
Napi::Error make_error(Napi::Env env, const char* code, const std::string& message);

/// Runs the body of a binding function and turns C++ exceptions into JavaScript ones. A Napi::Error that is already on its way
/// (a getter of an argument threw) passes through: throwing a second one over it would abort the process.
template <class Body>
auto guarded(Napi::Env env, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (const Failure& failure) {
    throw make_error(env, failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    throw make_error(env, kLimitExceeded, "There is not enough memory.");
  } catch (const std::exception& error) {
    throw make_error(env, "internal", error.what());
  }
}

}  // namespace hearth
