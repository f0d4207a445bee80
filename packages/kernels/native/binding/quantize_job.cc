#include "binding/quantize_job.h"

#include <utility>

#include "quantize/quantize.h"

namespace hearth {

QuantizeJob::QuantizeJob(Napi::Env env, Dtype dtype, std::vector<float> values) : dtype_(dtype), values_(std::move(values)) {
  require(is_quantizable(dtype), "Nothing can be quantized to ", dtype_info(dtype).name, ".");
  const int64_t block = dtype_info(dtype).block_elements;
  const int64_t num_values = static_cast<int64_t>(values_.size());
  require(num_values % block == 0, dtype_info(dtype).name, " takes multiples of ", block, " values, got ", num_values, ".");
  Napi::Uint8Array target = Napi::Uint8Array::New(env, static_cast<size_t>(file_row_bytes(dtype, num_values)));
  bytes_ = target.Data();
  target_ = Napi::Persistent(target.As<Napi::Object>());
}

void QuantizeJob::run(ThreadPool& pool) {
  bad_block_ = quantize_blocks(dtype_, values_.data(), static_cast<int64_t>(values_.size()), bytes_, pool);
}

Napi::Value QuantizeJob::result(Napi::Env env) {
  if (bad_block_ >= 0) return Napi::Number::New(env, static_cast<double>(bad_block_));
  return target_.Value();
}

}  // namespace hearth
