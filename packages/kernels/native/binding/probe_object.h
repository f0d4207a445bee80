#pragma once

#include <napi.h>

#include <memory>

#include "binding/step_thread.h"
#include "kernels/dispatch.h"

namespace hearth {

struct ProbeState;

/// JavaScript class Probe: measures what this machine can do, with the instructions of one kernel variant, on threads of its
/// own. It knows nothing of models.
class ProbeObject : public Napi::ObjectWrap<ProbeObject> {
 public:
  static Napi::Function define(Napi::Env env);

  /// new Probe(variant: string, numThreads: number); '' picks the best variant.
  explicit ProbeObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value variant(const Napi::CallbackInfo& info);
  Napi::Value num_threads(const Napi::CallbackInfo& info);
  Napi::Value measure(const Napi::CallbackInfo& info);
  void abort(const Napi::CallbackInfo& info);
  Napi::Value dispose(const Napi::CallbackInfo& info);

  std::shared_ptr<StepThread> thread_;
  const Variant* variant_ = nullptr;
  std::shared_ptr<ProbeState> state_;
};

}  // namespace hearth
