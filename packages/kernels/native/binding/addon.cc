// The addon's exports. src/addon-types.ts gives them types; nothing but this package's TypeScript calls them.

#include <napi.h>

#include "binding/addon_data.h"
#include "binding/errors.h"
#include "binding/executable_object.h"
#include "binding/file_object.h"
#include "binding/probe_object.h"
#include "binding/runtime_object.h"
#include "binding/testing.h"
#include "binding/weights_object.h"
#include "kernels/cpu_features.h"
#include "kernels/dispatch.h"

namespace hearth {
namespace {

Napi::Array string_array(Napi::Env env, const std::vector<std::string>& strings) {
  Napi::Array array = Napi::Array::New(env, strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) array.Set(i, strings[i]);
  return array;
}

/// variants(): { name, description, requires, isSupported }[], best first
Napi::Value variants(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    Napi::Array list = Napi::Array::New(env);
    for (const Variant& variant : all_variants()) {
      Napi::Object entry = Napi::Object::New(env);
      entry.Set("name", variant.name);
      entry.Set("description", variant.description);
      entry.Set("requires", string_array(env, cpu_feature_names(variant.required_features)));
      entry.Set("isSupported", is_supported(variant));
      list.Set(list.Length(), entry);
    }
    return list;
  });
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new AddonData());
  AddonData& data = addon_data(env);
  data.file = Napi::Persistent(FileObject::define(env));
  data.weights = Napi::Persistent(WeightsObject::define(env));
  data.executable = Napi::Persistent(ExecutableObject::define(env));
  exports.Set("Runtime", RuntimeObject::define(env));
  exports.Set("Probe", ProbeObject::define(env));
  exports.Set("variants", Napi::Function::New(env, variants, "variants"));
  exports.Set("cpuFeatures", string_array(env, cpu_feature_names(cpu_features())));
  // The build script looks for this text in the file to know whether it is up to date.
  exports.Set("sourceHash", "hearth-source:" HEARTH_SOURCE_HASH);
  exports.Set("testing", make_testing(env));
  return exports;
}

}  // namespace
}  // namespace hearth

static Napi::Object init_addon(Napi::Env env, Napi::Object exports) { return hearth::init(env, exports); }

NODE_API_MODULE(hearth_kernels, init_addon)
