// The cache operations of Executable: jobs of the step thread, which take their turn between steps.

#include <functional>
#include <utility>

#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/executable_object.h"

namespace hearth {
namespace {

/// A cache operation: some work on the step thread, and what its promise resolves to.
class CacheJob : public Job {
 public:
  CacheJob(std::shared_ptr<ExecutableState> state, std::function<void(PagedCache&)> work, const Napi::Object& result)
      : state_(std::move(state)), work_(std::move(work)), result_(Napi::Persistent(result)) {}
  void run(ThreadPool&) override { work_(state_->executable.cache); }
  Napi::Value result(Napi::Env env) override { return result_.IsEmpty() ? env.Undefined() : result_.Value(); }

  static Napi::Value submit(Napi::Env env, StepThread& thread, std::shared_ptr<ExecutableState> state,
                            std::function<void(PagedCache&)> work, const Napi::Object& result = Napi::Object()) {
    auto job = std::make_unique<CacheJob>(std::move(state), std::move(work), result);
    const Napi::Value promise = thread.submit(env, job.get());
    job.release();
    return promise;
  }

 private:
  std::shared_ptr<ExecutableState> state_;
  std::function<void(PagedCache&)> work_;
  Napi::ObjectReference result_;
};

}  // namespace

Napi::Value ExecutableObject::bytes_per_block(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(state().executable.cache.bytes_per_block()));
  });
}

/// zeroBlocks(blocks: Int32Array): Promise<void>
Napi::Value ExecutableObject::zero_blocks(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    state();
    auto blocks = copy_of(int32_array_argument(info[0], "blocks"));
    return CacheJob::submit(info.Env(), *thread_, state_, [blocks](PagedCache& cache) { cache.zero_blocks(blocks); });
  });
}

/// copyBlocks(from: Int32Array, to: Int32Array): Promise<void>
Napi::Value ExecutableObject::copy_blocks(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    state();
    auto from = copy_of(int32_array_argument(info[0], "from"));
    auto to = copy_of(int32_array_argument(info[1], "to"));
    return CacheJob::submit(info.Env(), *thread_, state_, [from, to](PagedCache& cache) { cache.copy_blocks(from, to); });
  });
}

/// readBlocks(blocks: Int32Array): Promise<Uint8Array>
Napi::Value ExecutableObject::read_blocks(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const int64_t block_bytes = state().executable.cache.bytes_per_block();
    auto blocks = copy_of(int32_array_argument(info[0], "blocks"));
    // JavaScript cannot reach the target before the promise resolves.
    Napi::Uint8Array target = Napi::Uint8Array::New(info.Env(), blocks.size() * static_cast<size_t>(block_bytes));
    uint8_t* bytes = target.Data();
    return CacheJob::submit(
        info.Env(), *thread_, state_, [blocks, bytes](PagedCache& cache) { cache.read_blocks(blocks, bytes); }, target);
  });
}

/// writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void>
Napi::Value ExecutableObject::write_blocks(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const int64_t block_bytes = state().executable.cache.bytes_per_block();
    auto blocks = copy_of(int32_array_argument(info[0], "blocks"));
    const ByteSpan bytes = byte_array_argument(info[1], "bytes");
    require(bytes.size == static_cast<int64_t>(blocks.size()) * block_bytes, blocks.size(), " blocks take ",
            static_cast<int64_t>(blocks.size()) * block_bytes, " bytes, got ", bytes.size, ".");
    std::vector<uint8_t> copy(bytes.data, bytes.data + bytes.size);
    return CacheJob::submit(info.Env(), *thread_, state_,
                            [blocks, copy = std::move(copy)](PagedCache& cache) { cache.write_blocks(blocks, copy.data()); });
  });
}

/// readLayer(layer: number, blockTable: Int32Array, numPositions: number): Promise<{ k: Float32Array, v: Float32Array }>
Napi::Value ExecutableObject::read_layer(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const PagedCache& cache = state().executable.cache;
    const int32_t index = int32_argument(info[0], "layer");
    auto table = copy_of(int32_array_argument(info[1], "blockTable"));
    const int64_t num_positions = int64_argument(info[2], "numPositions");
    // What sizes the result is checked here, the rest by the job.
    require(index >= 0 && index < cache.num_layers(), "There is no cache layer ", index, "; there are ", cache.num_layers(), ".");
    require(num_positions >= 0 && num_positions <= static_cast<int64_t>(table.size()) * cache.options().block_size, table.size(),
            " blocks do not hold ", num_positions, " positions.");
    const PagedCache::Layer& layer = cache.layer(index);
    const size_t count = static_cast<size_t>(num_positions) * static_cast<size_t>(layer.num_kv_heads) * static_cast<size_t>(layer.head_dim);
    Napi::Float32Array k = Napi::Float32Array::New(info.Env(), count);
    Napi::Float32Array v = Napi::Float32Array::New(info.Env(), count);
    const Napi::Object result = Napi::Object::New(info.Env());
    result.Set("k", k);
    result.Set("v", v);
    float* k_data = k.Data();
    float* v_data = v.Data();
    return CacheJob::submit(
        info.Env(), *thread_, state_,
        [=](PagedCache& c) { c.read_layer(index, table, num_positions, k_data, v_data); }, result);
  });
}

}  // namespace hearth
