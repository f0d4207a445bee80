#pragma once

#include <napi.h>

namespace hearth {

/// What one environment (main thread or worker) keeps: the constructors of its classes.
struct AddonData {
  Napi::FunctionReference file;
  Napi::FunctionReference weights;
  Napi::FunctionReference executable;
};

inline AddonData& addon_data(Napi::Env env) { return *env.GetInstanceData<AddonData>(); }

}  // namespace hearth
