#pragma once

#include <napi.h>

#include <atomic>
#include <memory>
#include <vector>

#include "binding/step_thread.h"
#include "step/executable.h"

namespace hearth {

struct ExecutableState;

/// The step of an executable. One per executable, used again for every step, so that a step allocates nothing.
class StepJob : public Job {
 public:
  explicit StepJob(ExecutableState& state) : state_(state) {}

  OutputKind output = OutputKind::logits;
  bool profile = false;
  /// Holds the memory while the step is under way, whatever happens to the JavaScript object.
  std::shared_ptr<ExecutableState> keep;

  void run(ThreadPool& pool) override;
  void cancel() override;
  Napi::Error error(Napi::Env env) override;
  void settled() override;

 private:
  ExecutableState& state_;
  StepOutcome outcome_;
};

struct ExecutableState {
  ExecutableState(Program program, std::shared_ptr<const Weights> weights, const ExecutableOptions& options, const KernelTable& kernels,
                  int num_threads)
      : executable(std::move(program), std::move(weights), options, kernels, num_threads),
        job(*this) {
    tables.reserve(executable.program.cache_groups.size());
  }

  Executable executable;
  /// Set on the JavaScript thread, read by the step.
  std::atomic<bool> abort{false};
  /// JavaScript thread only.
  bool is_running = false;
  std::vector<BlockTableSpan> tables;
  StepJob job;
};

/// JavaScript class Executable.
class ExecutableObject : public Napi::ObjectWrap<ExecutableObject> {
 public:
  static constexpr napi_type_tag kTypeTag = {0x6865617274680004, 0x4578656375746500};
  static Napi::Function define(Napi::Env env);
  static Napi::Value create(Napi::Env env, const std::shared_ptr<StepThread>& thread, std::unique_ptr<ExecutableState> state);

  explicit ExecutableObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value step(const Napi::CallbackInfo& info);
  void abort(const Napi::CallbackInfo& info);
  Napi::Value output_view(const Napi::CallbackInfo& info);
  void copy_output(const Napi::CallbackInfo& info);
  void read_rows(const Napi::CallbackInfo& info);
  Napi::Value read_capture(const Napi::CallbackInfo& info);
  Napi::Value op_nanoseconds(const Napi::CallbackInfo& info);
  Napi::Value bytes_per_block(const Napi::CallbackInfo& info);
  Napi::Value zero_blocks(const Napi::CallbackInfo& info);
  Napi::Value copy_blocks(const Napi::CallbackInfo& info);
  Napi::Value read_blocks(const Napi::CallbackInfo& info);
  Napi::Value write_blocks(const Napi::CallbackInfo& info);
  Napi::Value read_layer(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo& info);

  /// Throws Failure(kDisposed) when it was disposed.
  ExecutableState& state() const;
  /// The same, and no step may be running.
  ExecutableState& idle_state() const;

  std::shared_ptr<StepThread> thread_;
  std::shared_ptr<ExecutableState> state_;
};

}  // namespace hearth
