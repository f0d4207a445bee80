#include "binding/testing.h"

#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/errors.h"
#include "binding/row_outputs.h"
#include "kernels/dispatch.h"
#include "runtime/aligned_buffer.h"
#include "runtime/allocation_counter.h"

namespace hearth {
namespace {

Napi::Value allocation_count_value(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(allocation_count()));
}

/// Kernels work in vectors of 8; the rest of the last one is zeros.
std::vector<float> padded(const FloatSpan& values) {
  std::vector<float> copy(static_cast<size_t>((values.size + 7) / 8 * 8), 0.0f);
  std::copy(values.data, values.data + values.size, copy.begin());
  return copy;
}

Napi::Float32Array to_array(Napi::Env env, const std::vector<float>& values, int64_t size) {
  Napi::Float32Array array = Napi::Float32Array::New(env, static_cast<size_t>(size));
  std::copy(values.begin(), values.begin() + size, array.Data());
  return array;
}

/// elementary(variant, name: 'exp' | 'log' | 'tanh' | 'silu' | 'gelu-tanh' | 'sin' | 'cos', x: Float32Array): Float32Array
Napi::Value elementary(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const KernelTable& kernels = choose_variant(string_argument(info[0], "variant")).kernels();
    const std::string name = string_argument(info[1], "name");
    const FloatSpan x = float_array_argument(info[2], "x");
    const std::vector<float> in = padded(x);
    std::vector<float> out(in.size());
    std::vector<float> other(in.size());
    const int64_t n = static_cast<int64_t>(in.size());
    if (name == "exp") kernels.exp_values(in.data(), n, out.data());
    else if (name == "log") kernels.log_values(in.data(), n, out.data());
    else if (name == "tanh") kernels.tanh_values(in.data(), n, out.data());
    else if (name == "silu") kernels.activation[static_cast<int>(ActivationFunction::silu)](in.data(), n, out.data());
    else if (name == "gelu-tanh") kernels.activation[static_cast<int>(ActivationFunction::gelu_tanh)](in.data(), n, out.data());
    else if (name == "sin") kernels.sincos_values(in.data(), n, out.data(), other.data());
    else if (name == "cos") kernels.sincos_values(in.data(), n, other.data(), out.data());
    else fail(kInvalidArgument, "There is no elementary function '", name, "'.");
    return to_array(info.Env(), out, x.size);
  });
}

/// fma(variant, a: Float32Array, b: Float32Array, c: Float32Array): Float32Array
Napi::Value fma_values(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const KernelTable& kernels = choose_variant(string_argument(info[0], "variant")).kernels();
    const FloatSpan a = float_array_argument(info[1], "a");
    const FloatSpan b = float_array_argument(info[2], "b");
    const FloatSpan c = float_array_argument(info[3], "c");
    require(a.size == b.size && a.size == c.size, "The arrays differ in length.");
    const std::vector<float> pa = padded(a), pb = padded(b), pc = padded(c);
    std::vector<float> out(pa.size());
    kernels.fma_values(pa.data(), pb.data(), pc.data(), static_cast<int64_t>(pa.size()), out.data());
    return to_array(info.Env(), out, a.size);
  });
}

/// halfToFloat(variant, x: Uint16Array): Float32Array
Napi::Value half_to_float(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const KernelTable& kernels = choose_variant(string_argument(info[0], "variant")).kernels();
    require(info[1].IsTypedArray() && info[1].As<Napi::TypedArray>().TypedArrayType() == napi_uint16_array, "x must be a Uint16Array.");
    Napi::Uint16Array x = info[1].As<Napi::Uint16Array>();
    require(x.ElementLength() % 8 == 0, "x must have a multiple of 8 elements.");
    Napi::Float32Array out = Napi::Float32Array::New(info.Env(), x.ElementLength());
    kernels.f16_to_f32(x.Data(), static_cast<int64_t>(x.ElementLength()), out.Data());
    return out;
  });
}

/// floatToHalf(variant, x: Float32Array): Uint16Array
Napi::Value float_to_half(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const KernelTable& kernels = choose_variant(string_argument(info[0], "variant")).kernels();
    const FloatSpan x = float_array_argument(info[1], "x");
    require(x.size % 8 == 0, "x must have a multiple of 8 elements.");
    Napi::Uint16Array out = Napi::Uint16Array::New(info.Env(), static_cast<size_t>(x.size));
    kernels.f32_to_f16(x.data, x.size, out.Data());
    return out;
  });
}

/// sample(variant, logits: Float32Array, rows: object): number. One output row of the kind `sample`, with penalties of at most
/// 4096 tokens; -1 when a logit is not finite.
Napi::Value sample(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const KernelTable& kernels = choose_variant(string_argument(info[0], "variant")).kernels();
    const FloatSpan logits = float_array_argument(info[1], "logits");
    require(logits.size > 0, "logits is empty.");
    const RowOutputMemory memory(1, logits.size, 4096, 1);
    read_row_outputs(info[2], 1, memory);
    const RowOutput& row = memory.wanted[0];
    require(row.kind == RowOutputKind::sample, "The row is not to be sampled.");
    return Napi::Number::New(info.Env(), kernels.sample(logits.data, logits.size, row.sampling, memory.scratch.data()));
  });
}

}  // namespace

Napi::Object make_testing(Napi::Env env) {
  Napi::Object testing = Napi::Object::New(env);
  testing.Set("allocationCount", Napi::Function::New(env, allocation_count_value, "allocationCount"));
  testing.Set("elementary", Napi::Function::New(env, elementary, "elementary"));
  testing.Set("fma", Napi::Function::New(env, fma_values, "fma"));
  testing.Set("halfToFloat", Napi::Function::New(env, half_to_float, "halfToFloat"));
  testing.Set("floatToHalf", Napi::Function::New(env, float_to_half, "floatToHalf"));
  testing.Set("sample", Napi::Function::New(env, sample, "sample"));
  return testing;
}

}  // namespace hearth
