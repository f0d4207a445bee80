#include "binding/executable_object.h"

#include <cstring>
#include <utility>

#include "binding/addon_data.h"
#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/row_outputs.h"

namespace hearth {
namespace {

/// A view of native memory as a Float32Array, without a copy. The memory lives as long as JavaScript holds any part of it.
/// Undefined where the runtime does not allow such views; then results are copied.
Napi::Value view_of(Napi::Env env, const std::shared_ptr<AlignedBuffer>& memory, float* data, int64_t count) {
  using Holder = std::shared_ptr<AlignedBuffer>;
  auto holder = std::make_unique<Holder>(memory);
  napi_value buffer;
  const napi_status status = napi_create_external_arraybuffer(
      env, data, static_cast<size_t>(count) * sizeof(float), [](napi_env, void*, void* hint) { delete static_cast<Holder*>(hint); },
      holder.get(), &buffer);
  if (status != napi_ok) {
    bool is_pending = false;
    napi_is_exception_pending(env, &is_pending);
    if (is_pending) env.GetAndClearPendingException();
    return env.Undefined();
  }
  holder.release();
  return Napi::Float32Array::New(env, static_cast<size_t>(count), Napi::ArrayBuffer(env, buffer), 0);
}

}  // namespace

void StepJob::run(ThreadPool& pool) {
  outcome_ = run_step(state_.executable, pool, output, profile, state_.abort);
  switch (outcome_.status) {
    case StepStatus::ok: return;
    case StepStatus::aborted: throw Failure(kAborted, "The operation was aborted.");
    case StepStatus::not_finite: throw Failure(kNumeric, "An op produced a value that is not finite.");
  }
}

void StepJob::cancel() { state_.abort.store(true, std::memory_order_relaxed); }

Napi::Error StepJob::error(Napi::Env env) {
  Napi::Error error = Job::error(env);
  if (outcome_.status == StepStatus::not_finite) {
    error.Value().Set("op", static_cast<double>(outcome_.op));
    error.Value().Set("inSum", outcome_.in_sum);
  }
  return error;
}

void StepJob::settled() {
  state_.is_running = false;
  // May end `this`.
  const std::shared_ptr<ExecutableState> last = std::move(keep);
}

Napi::Function ExecutableObject::define(Napi::Env env) {
  return DefineClass(env, "Executable",
                     {
                         InstanceMethod<&ExecutableObject::step>("step"),
                         InstanceMethod<&ExecutableObject::abort>("abort"),
                         InstanceMethod<&ExecutableObject::output_view>("outputView"),
                         InstanceMethod<&ExecutableObject::copy_output>("copyOutput"),
                         InstanceMethod<&ExecutableObject::read_rows>("readRows"),
                         InstanceMethod<&ExecutableObject::read_capture>("readCapture"),
                         InstanceMethod<&ExecutableObject::op_nanoseconds>("opNanoseconds"),
                         InstanceAccessor<&ExecutableObject::bytes_per_block>("bytesPerBlock"),
                         InstanceMethod<&ExecutableObject::zero_blocks>("zeroBlocks"),
                         InstanceMethod<&ExecutableObject::copy_blocks>("copyBlocks"),
                         InstanceMethod<&ExecutableObject::read_blocks>("readBlocks"),
                         InstanceMethod<&ExecutableObject::write_blocks>("writeBlocks"),
                         InstanceMethod<&ExecutableObject::read_layer>("readLayer"),
                         InstanceMethod<&ExecutableObject::dispose>("dispose"),
                     });
}

ExecutableObject::ExecutableObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ExecutableObject>(info) {
  info.This().As<Napi::Object>().TypeTag(&kTypeTag);
}

Napi::Value ExecutableObject::create(Napi::Env env, const std::shared_ptr<StepThread>& thread, std::unique_ptr<ExecutableState> state) {
  const Napi::Object object = addon_data(env).executable.New({});
  ExecutableObject& wrapper = *Unwrap(object);
  wrapper.thread_ = thread;
  wrapper.state_ = std::move(state);
  return object;
}

ExecutableState& ExecutableObject::state() const {
  if (state_ == nullptr) fail(kDisposed, "This executable was disposed and cannot be used again.");
  return *state_;
}

ExecutableState& ExecutableObject::idle_state() const {
  require(!state().is_running, "A step is running. Await it first: an executable runs one step at a time.");
  return *state_;
}

/// step(batch: Batch, output: number, rows: object | undefined, profile: boolean): Promise<void>
/// `rows`: what is wanted of each output row (row_outputs.h), for the output kind of that name.
Napi::Value ExecutableObject::step(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    ExecutableState& s = idle_state();
    // Reading the batch may run getters, and those may call step() or dispose().
    const std::shared_ptr<ExecutableState> keep = state_;
    s.is_running = true;
    try {
      require(info[0].IsObject(), "batch must be an object.");
      const Napi::Object batch = info[0].As<Napi::Object>();
      const int32_t output = int32_argument(info[1], "output");
      require(output >= 0 && output <= static_cast<int32_t>(OutputKind::rows), "There is no output kind ", output, ".");

      s.tables.clear();
      const Napi::Value tables = batch.Get("blockTables");
      require(tables.IsArray(), "blockTables must be an array.");
      const uint32_t num_tables = tables.As<Napi::Array>().Length();
      require(num_tables == s.executable.program.cache_groups.size(), "The batch has ", num_tables, " block tables for ",
              s.executable.program.cache_groups.size(), " cache groups.");
      // All of JavaScript first, then the addresses: a getter might detach an array that was looked at before it.
      Napi::Value arrays[5] = {batch.Get("tokenIds"), batch.Get("positions"), batch.Get("cuSeqlensQ"), batch.Get("contextLens"), batch.Get("outputRows")};
      for (uint32_t i = 0; i < num_tables; ++i) {
        const Napi::Value table = tables.As<Napi::Array>().Get(i);
        require(table.IsObject(), "Block table ", i, " must be an object.");
        const int64_t max_blocks = int64_argument(table.As<Napi::Object>().Get("maxBlocks"), "maxBlocks");
        s.tables.push_back({int32_array_argument(table.As<Napi::Object>().Get("blocks"), "blocks"), max_blocks});
      }
      s.executable.batch.assign(int32_array_argument(arrays[0], "tokenIds"), int32_array_argument(arrays[1], "positions"),
                                int32_array_argument(arrays[2], "cuSeqlensQ"), int32_array_argument(arrays[3], "contextLens"), s.tables,
                                int32_array_argument(arrays[4], "outputRows"));

      s.job.output = static_cast<OutputKind>(output);
      s.job.profile = boolean_argument(info[3], "profile");
      if (s.job.output == OutputKind::rows) {
        read_row_outputs(info[2], s.executable.batch.num_output_rows(), s.executable.row_outputs);
      }
      s.abort.store(false, std::memory_order_relaxed);
      s.job.keep = keep;
      return thread_->submit(info.Env(), &s.job);
    } catch (...) {
      s.job.keep.reset();
      s.is_running = false;
      throw;
    }
  });
}

/// abort(): void. Ends the running step before its next op; does nothing when none is running.
void ExecutableObject::abort(const Napi::CallbackInfo&) {
  if (state_ != nullptr) state_->job.cancel();
}

/// outputView(output: number): Float32Array | undefined. All rows of the logits (0) or hidden rows (1), [maxOutputRows, width].
Napi::Value ExecutableObject::output_view(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Executable& x = state().executable;
    const bool hidden = int32_argument(info[0], "output") == static_cast<int32_t>(OutputKind::hidden);
    const View& view = hidden ? x.program.hidden : x.program.logits;
    const std::shared_ptr<AlignedBuffer>& copy = hidden ? x.hidden_copy : x.logits_copy;
    const std::shared_ptr<AlignedBuffer>& memory = copy == nullptr ? x.arenas[static_cast<size_t>(RowKind::outputs)] : copy;
    return view_of(info.Env(), memory, x.finished_rows(view, copy), x.options.max_output_rows * view.width);
  });
}

/// copyOutput(output: number, target: Float32Array [rows of the last batch, width]): void
void ExecutableObject::copy_output(const Napi::CallbackInfo& info) {
  guarded(info.Env(), [&] {
    const Executable& x = idle_state().executable;
    const bool hidden = int32_argument(info[0], "output") == static_cast<int32_t>(OutputKind::hidden);
    const View& view = hidden ? x.program.hidden : x.program.logits;
    const FloatSpan target = float_array_argument(info[1], "target");
    const int64_t count = x.batch.num_output_rows() * view.width;
    require(target.size == count, "target has ", target.size, " floats, the output ", count, ".");
    if (count > 0) {
      std::memcpy(target.data, x.finished_rows(view, hidden ? x.hidden_copy : x.logits_copy), static_cast<size_t>(count) * sizeof(float));
    }
  });
}

/// readRows(logprobs: Float32Array, argmax: Int32Array, sampled: Int32Array): void. Each [rows of the last batch].
void ExecutableObject::read_rows(const Napi::CallbackInfo& info) {
  guarded(info.Env(), [&] {
    const Executable& x = idle_state().executable;
    const FloatSpan logprobs = float_array_argument(info[0], "logprobs");
    const Int32Span argmax = int32_array_argument(info[1], "argmax");
    const Int32Span sampled = int32_array_argument(info[2], "sampled");
    const int64_t rows = x.batch.num_output_rows();
    require(logprobs.size == rows && argmax.size == rows && sampled.size == rows, "The arrays must have ", rows, " entries.");
    for (int64_t row = 0; row < rows; ++row) {
      const RowResult& result = x.row_outputs.results[row];
      logprobs.data[row] = result.logprob;
      const_cast<int32_t*>(argmax.data)[row] = result.argmax;
      const_cast<int32_t*>(sampled.data)[row] = result.sampled;
    }
  });
}

/// readCapture(index: number): Float32Array, a copy of the rows that the last step captured.
Napi::Value ExecutableObject::read_capture(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Executable& x = idle_state().executable;
    const int32_t index = int32_argument(info[0], "index");
    require(index >= 0 && index < static_cast<int32_t>(x.captures.size()), "There is no capture ", index, ".");
    const Capture& capture = x.program.captures[static_cast<size_t>(index)];
    const int64_t rows = capture.rows == RowKind::tokens ? x.batch.num_tokens() : x.batch.num_output_rows();
    Napi::Float32Array copy = Napi::Float32Array::New(info.Env(), static_cast<size_t>(rows * capture.width));
    if (rows > 0) std::memcpy(copy.Data(), x.captures[static_cast<size_t>(index)].data(), copy.ByteLength());
    return copy;
  });
}

/// opNanoseconds(): Float64Array, a copy of the last profile, one entry per op.
Napi::Value ExecutableObject::op_nanoseconds(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Executable& x = idle_state().executable;
    Napi::Float64Array copy = Napi::Float64Array::New(info.Env(), x.program.ops.size());
    if (!x.program.ops.empty()) std::memcpy(copy.Data(), x.op_nanoseconds.data(), copy.ByteLength());
    return copy;
  });
}

/// dispose(): void. A running step keeps the memory until it ends. Twice is fine.
void ExecutableObject::dispose(const Napi::CallbackInfo&) { state_.reset(); }

}  // namespace hearth
