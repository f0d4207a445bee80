#pragma once

#include <napi.h>

#include <memory>

#include "binding/packed_jobs.h"
#include "binding/step_thread.h"
#include "weights/weights.h"

namespace hearth {

/// JavaScript class Weights: packed weights, filled tensor by tensor. Executables keep the weights they were compiled from,
/// whatever dispose() does.
class WeightsObject : public Napi::ObjectWrap<WeightsObject> {
 public:
  static constexpr napi_type_tag kTypeTag = {0x6865617274680003, 0x5765696768747300};
  static Napi::Function define(Napi::Env env);
  static Napi::Value create(Napi::Env env, const std::shared_ptr<StepThread>& thread);

  explicit WeightsObject(const Napi::CallbackInfo& info);

  /// Throws Failure when they were disposed or rows are still being packed.
  std::shared_ptr<const Weights> complete_weights() const;

 private:
  friend class PackJob;
  Napi::Value add_matrix(const Napi::CallbackInfo& info);
  Napi::Value add_vector(const Napi::CallbackInfo& info);
  Napi::Value pack_file(const Napi::CallbackInfo& info);
  Napi::Value pack_bytes(const Napi::CallbackInfo& info);
  Napi::Value add_packed_matrix(const Napi::CallbackInfo& info);
  Napi::Value load_packed(const Napi::CallbackInfo& info);
  Napi::Value write_packed(const Napi::CallbackInfo& info);
  void cancel_writing(const Napi::CallbackInfo& info);
  Napi::Value read_tensor(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo& info);

  Napi::Value submit(Napi::Env env, std::unique_ptr<class PackJob> job);
  /// Throws Failure when they were disposed; while a job is packing, nothing else may touch them.
  Weights& idle_weights() const;
  /// The same, and no job is reading them either: for adding to them.
  Weights& unshared_weights() const;

  std::shared_ptr<StepThread> thread_;
  std::shared_ptr<Weights> weights_;
  /// Shared with jobs, which may outlive this object. JavaScript thread only.
  std::shared_ptr<int> num_packing_ = std::make_shared<int>(0);
  /// Of the job that writes these weights to a file; null when there is none.
  std::shared_ptr<WritingState> writing_;
};

}  // namespace hearth
