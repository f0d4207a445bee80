#include "binding/runtime_object.h"

#include <string>
#include <utility>
#include <vector>

#include "binding/addon_data.h"
#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/executable_object.h"
#include "binding/file_object.h"
#include "binding/quantize_job.h"
#include "binding/weights_object.h"
#include "program/decode_program.h"

namespace hearth {
namespace {

/// More threads than any machine has cores, fewer than would exhaust it.
constexpr int32_t kMostThreads = 1024;

}  // namespace

int num_threads_argument(const Napi::Value& value) {
  const int32_t num_threads = int32_argument(value, "numThreads");
  require(num_threads >= 1 && num_threads <= kMostThreads, "numThreads must be 1 to ", kMostThreads, ", got ", num_threads, ".");
  return num_threads;
}

Napi::Function RuntimeObject::define(Napi::Env env) {
  return DefineClass(env, "Runtime",
                     {
                         InstanceAccessor<&RuntimeObject::variant>("variant"),
                         InstanceAccessor<&RuntimeObject::num_threads>("numThreads"),
                         InstanceMethod<&RuntimeObject::open_file>("openFile"),
                         InstanceMethod<&RuntimeObject::create_weights>("createWeights"),
                         InstanceMethod<&RuntimeObject::compile>("compile"),
                         InstanceMethod<&RuntimeObject::quantize>("quantize"),
                         InstanceMethod<&RuntimeObject::dispose>("dispose"),
                     });
}

RuntimeObject::RuntimeObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<RuntimeObject>(info) {
  guarded(info.Env(), [&] {
    variant_ = &choose_variant(string_argument(info[0], "variant"));
    thread_ = StepThread::start(info.Env(), num_threads_argument(info[1]));
    info.This().As<Napi::Object>().TypeTag(&kTypeTag);
  });
}

Napi::Value RuntimeObject::variant(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), variant_->name); }

Napi::Value RuntimeObject::num_threads(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), thread_->num_threads());
}

/// openFile(path: string, map: boolean): Promise<File>
Napi::Value RuntimeObject::open_file(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const FileAccess access = boolean_argument(info[1], "map") ? FileAccess::map : FileAccess::read;
    return FileObject::open(info.Env(), thread_, string_argument(info[0], "path"), access);
  });
}

/// createWeights(): Weights
Napi::Value RuntimeObject::create_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return WeightsObject::create(info.Env(), thread_); });
}

/// compile(weights, words: Int32Array, maxTokens, maxOutputRows, cache: Int32Array [dtype, blockSize, numBlocks]): Executable
Napi::Value RuntimeObject::compile(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const std::shared_ptr<const Weights> weights = unwrap_argument<WeightsObject>(info[0], "weights").complete_weights();
    const Int32Span words = int32_array_argument(info[1], "words");
    ExecutableOptions options;
    options.max_tokens = int64_argument(info[2], "maxTokens");
    options.max_output_rows = int64_argument(info[3], "maxOutputRows");
    const Int32Span cache = int32_array_argument(info[4], "cache");
    require(cache.size == 3, "cache must have 3 entries, got ", cache.size, ".");
    options.cache = CacheOptions{static_cast<CacheDtype>(cache.data[0]), cache.data[1], cache.data[2]};
    Program program = decode_program(words.data, words.size);
    auto state = std::make_unique<ExecutableState>(std::move(program), weights, options, variant_->kernels(), thread_->num_threads());
    return ExecutableObject::create(info.Env(), thread_, std::move(state));
  });
}

/// quantize(dtype: number, values: Float32Array): Promise<Uint8Array | number>, the first block that cannot be.
Napi::Value RuntimeObject::quantize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const int32_t dtype = int32_argument(info[0], "dtype");
    require(dtype >= 0 && dtype < kNumDtypes, "There is no dtype ", dtype, ".");
    const FloatSpan values = float_array_argument(info[1], "values");
    auto job = std::make_unique<QuantizeJob>(info.Env(), static_cast<Dtype>(dtype),
                                             std::vector<float>(values.data, values.data + values.size));
    const Napi::Value promise = thread_->submit(info.Env(), job.get());
    job.release();
    return promise;
  });
}

/// dispose(): Promise<void>, once all jobs before it are done and the threads are gone.
Napi::Value RuntimeObject::dispose(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return thread_->stop(info.Env()); });
}

}  // namespace hearth
