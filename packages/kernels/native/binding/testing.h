#pragma once

#include <napi.h>

namespace hearth {

/// Functions that only tests call: elementary functions of a variant, and the allocation counter.
Napi::Object make_testing(Napi::Env env);

}  // namespace hearth
