#pragma once

// The one exception of the native code. The binding turns it into a JavaScript error with the same code; TypeScript turns
// that into the HearthError class of the code.

#include <sstream>
#include <stdexcept>
#include <string>

namespace hearth {

// Codes of packages/core/src/errors.
constexpr const char* kInvalidArgument = "invalid_argument";
constexpr const char* kInvalidModel = "invalid_model";
constexpr const char* kDisposed = "disposed";
constexpr const char* kLimitExceeded = "limit_exceeded";
constexpr const char* kNumeric = "numeric";
constexpr const char* kAborted = "aborted";

class Failure : public std::runtime_error {
 public:
  Failure(const char* code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// A string literal.
  const char* code() const { return code_; }

 private:
  const char* code_;
};

/// Throws a Failure whose message is the parts put together.
template <class... Parts>
[[noreturn]] void fail(const char* code, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Failure(code, message.str());
}

/// Throws an invalid_argument Failure unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail(kInvalidArgument, parts...);
}

}  // namespace hearth
