#include "binding/probe_object.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/runtime_object.h"
#include "measure/measure.h"

namespace hearth {

/// What a measurement needs while it runs, whatever becomes of the object.
struct ProbeState {
  explicit ProbeState(int num_threads) : memory(num_threads) {}
  MeasureMemory memory;
  std::atomic<bool> abort{false};
};

namespace {

class MeasureJob : public Job {
 public:
  MeasureJob(std::shared_ptr<ProbeState> state, const KernelTable& kernels, const MeasureRequest& request)
      : state_(std::move(state)), kernels_(kernels), request_(request) {}
  void run(ThreadPool& pool) override { rates_ = measure(kernels_, pool, state_->memory, request_, state_->abort); }
  void cancel() override { state_->abort.store(true, std::memory_order_relaxed); }
  Napi::Value result(Napi::Env env) override {
    Napi::Float64Array array = Napi::Float64Array::New(env, rates_.size());
    std::copy(rates_.begin(), rates_.end(), array.Data());
    return array;
  }

 private:
  std::shared_ptr<ProbeState> state_;
  const KernelTable& kernels_;
  MeasureRequest request_;
  std::vector<double> rates_;
};

}  // namespace

Napi::Function ProbeObject::define(Napi::Env env) {
  return DefineClass(env, "Probe",
                     {
                         InstanceAccessor<&ProbeObject::variant>("variant"),
                         InstanceAccessor<&ProbeObject::num_threads>("numThreads"),
                         InstanceMethod<&ProbeObject::measure>("measure"),
                         InstanceMethod<&ProbeObject::abort>("abort"),
                         InstanceMethod<&ProbeObject::dispose>("dispose"),
                     });
}

ProbeObject::ProbeObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ProbeObject>(info) {
  guarded(info.Env(), [&] {
    variant_ = &choose_variant(string_argument(info[0], "variant"));
    thread_ = StepThread::start(info.Env(), num_threads_argument(info[1]));
    state_ = std::make_shared<ProbeState>(thread_->num_threads());
  });
}

Napi::Value ProbeObject::variant(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), variant_->name); }

Napi::Value ProbeObject::num_threads(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), thread_->num_threads());
}

/// measure(quantity: number, allThreads: boolean, bytes: number, numRuns: number): Promise<Float64Array>, rates per second
Napi::Value ProbeObject::measure(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const int32_t quantity = int32_argument(info[0], "quantity");
    require(quantity >= 0 && quantity < kNumQuantities, "There is no quantity ", quantity, ".");
    MeasureRequest request;
    request.quantity = static_cast<Quantity>(quantity);
    request.all_threads = boolean_argument(info[1], "allThreads");
    request.bytes = int64_argument(info[2], "bytes");
    request.num_runs = int32_argument(info[3], "numRuns");
    state_->abort.store(false, std::memory_order_relaxed);
    auto job = std::make_unique<MeasureJob>(state_, variant_->kernels(), request);
    const Napi::Value promise = thread_->submit(info.Env(), job.get());
    job.release();
    return promise;
  });
}

/// abort(): the measurement that runs ends with an error after its present run of some 10 ms.
void ProbeObject::abort(const Napi::CallbackInfo&) { state_->abort.store(true, std::memory_order_relaxed); }

/// dispose(): Promise<void>, once the threads are gone.
Napi::Value ProbeObject::dispose(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return thread_->stop(info.Env()); });
}

}  // namespace hearth
