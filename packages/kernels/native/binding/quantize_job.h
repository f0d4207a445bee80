#pragma once

#include <memory>
#include <vector>

#include "binding/step_thread.h"
#include "kernels/dtype.h"

namespace hearth {

/// Quantizes a copy of values that came from JavaScript. Resolves to the bytes, or to the number of the first block that
/// cannot be quantized: why it cannot is said in JavaScript.
class QuantizeJob : public Job {
 public:
  QuantizeJob(Napi::Env env, Dtype dtype, std::vector<float> values);
  void run(ThreadPool& pool) override;
  Napi::Value result(Napi::Env env) override;

 private:
  Dtype dtype_;
  std::vector<float> values_;
  /// JavaScript cannot reach it before the promise resolves, so nobody can detach it meanwhile.
  Napi::ObjectReference target_;
  uint8_t* bytes_;
  int64_t bad_block_ = -1;
};

}  // namespace hearth
