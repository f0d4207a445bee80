#include "binding/weights_object.h"

#include <cstring>
#include <utility>
#include <vector>

#include "binding/addon_data.h"
#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/file_object.h"
#include "binding/packed_jobs.h"
#include "weights/packed_file.h"

namespace hearth {

class PackJob : public Job {
 public:
  PackJob(std::shared_ptr<Weights> weights, std::shared_ptr<int> num_packing) : weights_(std::move(weights)), num_packing_(std::move(num_packing)) {}

  int32_t index = 0;
  int64_t first_row = 0;
  int64_t num_rows = 0;
  RowSource source;
  /// A copy of bytes that came from JavaScript.
  std::vector<uint8_t> bytes;

  void begin() { ++*num_packing_; }
  void run(ThreadPool& pool) override { weights_->pack(index, source, first_row, num_rows, pool); }
  void settled() override {
    --*num_packing_;
    delete this;
  }

 private:
  std::shared_ptr<Weights> weights_;
  std::shared_ptr<int> num_packing_;
};

Napi::Function WeightsObject::define(Napi::Env env) {
  return DefineClass(env, "Weights",
                     {
                         InstanceMethod<&WeightsObject::add_matrix>("addMatrix"),
                         InstanceMethod<&WeightsObject::add_vector>("addVector"),
                         InstanceMethod<&WeightsObject::pack_file>("packFile"),
                         InstanceMethod<&WeightsObject::pack_bytes>("packBytes"),
                         InstanceMethod<&WeightsObject::add_packed_matrix>("addPackedMatrix"),
                         InstanceMethod<&WeightsObject::load_packed>("loadPacked"),
                         InstanceMethod<&WeightsObject::write_packed>("writePacked"),
                         InstanceMethod<&WeightsObject::cancel_writing>("cancelWriting"),
                         InstanceMethod<&WeightsObject::read_tensor>("readTensor"),
                         InstanceMethod<&WeightsObject::dispose>("dispose"),
                     });
}

WeightsObject::WeightsObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<WeightsObject>(info) {
  info.This().As<Napi::Object>().TypeTag(&kTypeTag);
}

Napi::Value WeightsObject::create(Napi::Env env, const std::shared_ptr<StepThread>& thread) {
  const Napi::Object object = addon_data(env).weights.New({});
  WeightsObject& wrapper = *Unwrap(object);
  wrapper.thread_ = thread;
  wrapper.weights_ = std::make_shared<Weights>();
  return object;
}

Weights& WeightsObject::idle_weights() const {
  if (weights_ == nullptr) fail(kDisposed, "These weights were disposed and cannot be used again.");
  require(*num_packing_ == 0, "Rows of these weights are still being packed.");
  return *weights_;
}

Weights& WeightsObject::unshared_weights() const {
  Weights& weights = idle_weights();
  require(writing_ == nullptr || writing_->is_over, "These weights are being written to a file.");
  return weights;
}

std::shared_ptr<const Weights> WeightsObject::complete_weights() const {
  idle_weights();
  return weights_;
}

/// A permutation that the caller may leave out: a copy, empty when it is undefined.
static std::vector<uint32_t> order_argument(const Napi::Value& value, const char* name) {
  if (value.IsUndefined()) return {};
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint32_array, name, " must be a Uint32Array.");
  const Napi::Uint32Array array = value.As<Napi::Uint32Array>();
  return std::vector<uint32_t>(array.Data(), array.Data() + array.ElementLength());
}

static Dtype dtype_argument(const Napi::Value& value) {
  const int32_t dtype = int32_argument(value, "dtype");
  require(dtype >= 0 && dtype < kNumDtypes, "There is no dtype ", dtype, ".");
  return static_cast<Dtype>(dtype);
}

/// addMatrix(dtype: number, rows: number, columns: number, rowOrder, columnOrder: Uint32Array | undefined): number
Napi::Value WeightsObject::add_matrix(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Dtype dtype = dtype_argument(info[0]);
    const int32_t index = unshared_weights().add_matrix(dtype, int64_argument(info[1], "rows"),
                                                    int64_argument(info[2], "columns"), order_argument(info[3], "rowOrder"),
                                                    order_argument(info[4], "columnOrder"));
    return Napi::Number::New(info.Env(), index);
  });
}

/// addVector(values: Float32Array): number
Napi::Value WeightsObject::add_vector(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const FloatSpan values = float_array_argument(info[0], "values");
    return Napi::Number::New(info.Env(), unshared_weights().add_vector(values.data, values.size));
  });
}

Napi::Value WeightsObject::submit(Napi::Env env, std::unique_ptr<PackJob> job) {
  const Napi::Value promise = thread_->submit(env, job.get());
  job.release()->begin();
  return promise;
}

/// packFile(index, file: File, offset, firstRow, numRows): Promise<void>. offset: of row firstRow, in the file.
Napi::Value WeightsObject::pack_file(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    unshared_weights();
    auto job = std::make_unique<PackJob>(weights_, num_packing_);
    job->index = int32_argument(info[0], "index");
    job->source.file = unwrap_argument<FileObject>(info[1], "file").file();
    job->source.offset = int64_argument(info[2], "offset");
    job->first_row = int64_argument(info[3], "firstRow");
    job->num_rows = int64_argument(info[4], "numRows");
    return submit(info.Env(), std::move(job));
  });
}

/// packBytes(index, bytes: Uint8Array, firstRow, numRows): Promise<void>
Napi::Value WeightsObject::pack_bytes(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    unshared_weights();
    auto job = std::make_unique<PackJob>(weights_, num_packing_);
    job->index = int32_argument(info[0], "index");
    const ByteSpan bytes = byte_array_argument(info[1], "bytes");
    job->bytes.assign(bytes.data, bytes.data + bytes.size);
    job->source.bytes = job->bytes.data();
    job->source.num_bytes = bytes.size;
    job->first_row = int64_argument(info[2], "firstRow");
    job->num_rows = int64_argument(info[3], "numRows");
    return submit(info.Env(), std::move(job));
  });
}

/// addPackedMatrix(dtype, rows, columns, columnOrder: Uint32Array | undefined, file: File, offset): number
Napi::Value WeightsObject::add_packed_matrix(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Dtype dtype = dtype_argument(info[0]);
    const int32_t index = unshared_weights().add_packed_matrix(
        dtype, int64_argument(info[1], "rows"), int64_argument(info[2], "columns"), order_argument(info[3], "columnOrder"),
        unwrap_argument<FileObject>(info[4], "file").file(), int64_argument(info[5], "offset"));
    return Napi::Number::New(info.Env(), index);
  });
}

/// loadPacked(first, count): Promise<void>, of matrices that were added so.
Napi::Value WeightsObject::load_packed(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    unshared_weights();
    auto job = std::make_unique<LoadPackedJob>(weights_, num_packing_);
    job->first = int32_argument(info[0], "first");
    job->count = int32_argument(info[1], "count");
    const Napi::Value promise = thread_->submit(info.Env(), job.get());
    job.release()->begin();
    return promise;
  });
}

/// writePacked(path: string, offsets: number[], fileBytes): Promise<void>. Compiling and computing go on meanwhile.
Napi::Value WeightsObject::write_packed(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    unshared_weights();
    std::vector<int64_t> offsets;
    const Napi::Array given = array_argument(info[1], "offsets");
    for (uint32_t i = 0; i < given.Length(); ++i) offsets.push_back(int64_argument(given.Get(i), "offset"));
    const int64_t file_bytes = int64_argument(info[2], "fileBytes");
    check_packed_layout(*weights_, offsets, file_bytes);
    auto writing = std::make_shared<WritingState>();
    auto job = std::make_unique<WritePackedJob>(weights_, writing, string_argument(info[0], "path"), std::move(offsets), file_bytes);
    // A thread of its own, which steps do not wait for. The job keeps it.
    const Napi::Value promise = StepThread::start(info.Env(), 1)->submit(info.Env(), job.get());
    job.release();
    writing_ = std::move(writing);
    return promise;
  });
}

/// cancelWriting(): void. The promise of writePacked, if there is one, rejects soon.
void WeightsObject::cancel_writing(const Napi::CallbackInfo&) {
  if (writing_ != nullptr) writing_->is_cancelled = true;
}

/// readTensor(index): Uint8Array, a copy of the packed bytes. For tests.
Napi::Value WeightsObject::read_tensor(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Tensor& tensor = idle_weights().at(int32_argument(info[0], "index"));
    Napi::Uint8Array copy = Napi::Uint8Array::New(info.Env(), static_cast<size_t>(tensor.data.size()));
    std::memcpy(copy.Data(), tensor.data.data(), static_cast<size_t>(tensor.data.size()));
    return copy;
  });
}

/// dispose(): void. Twice is fine.
void WeightsObject::dispose(const Napi::CallbackInfo&) { weights_.reset(); }

}  // namespace hearth
