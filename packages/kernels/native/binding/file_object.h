#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "binding/step_thread.h"
#include "files/mapped_file.h"

namespace hearth {

/// JavaScript class File: an open file. Jobs that read from it keep it open, whatever close() does.
class FileObject : public Napi::ObjectWrap<FileObject> {
 public:
  static constexpr napi_type_tag kTypeTag = {0x6865617274680002, 0x46696c6500000000};
  static Napi::Function define(Napi::Env env);
  /// A promise of a File.
  static Napi::Value open(Napi::Env env, const std::shared_ptr<StepThread>& thread, const std::string& path, FileAccess access);

  explicit FileObject(const Napi::CallbackInfo& info);

  /// Throws Failure(kDisposed) when it was closed.
  std::shared_ptr<const MappedFile> file() const;

 private:
  friend class OpenJob;
  Napi::Value size(const Napi::CallbackInfo& info);
  Napi::Value modified_ns(const Napi::CallbackInfo& info);
  Napi::Value is_mapped(const Napi::CallbackInfo& info);
  Napi::Value is_quick(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::shared_ptr<StepThread> thread_;
  std::shared_ptr<const MappedFile> file_;
  double size_ = 0;
  int64_t modified_ns_ = 0;
};

}  // namespace hearth
