#pragma once

#include <napi.h>

#include <memory>

#include "binding/step_thread.h"
#include "kernels/dispatch.h"

namespace hearth {

/// The number of threads of a pool, checked. Throws Failure(kInvalidArgument).
int num_threads_argument(const Napi::Value& value);

/// JavaScript class Runtime: a kernel variant, a step thread and its pool. Everything else is made by it.
class RuntimeObject : public Napi::ObjectWrap<RuntimeObject> {
 public:
  static constexpr napi_type_tag kTypeTag = {0x6865617274680001, 0x52756e74696d6500};
  static Napi::Function define(Napi::Env env);

  /// new Runtime(variant: string, numThreads: number); '' picks the best variant.
  explicit RuntimeObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value variant(const Napi::CallbackInfo& info);
  Napi::Value num_threads(const Napi::CallbackInfo& info);
  Napi::Value open_file(const Napi::CallbackInfo& info);
  Napi::Value create_weights(const Napi::CallbackInfo& info);
  Napi::Value compile(const Napi::CallbackInfo& info);
  Napi::Value quantize(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

  std::shared_ptr<StepThread> thread_;
  const Variant* variant_ = nullptr;
};

}  // namespace hearth
