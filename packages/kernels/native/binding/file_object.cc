#include "binding/file_object.h"

#include "binding/addon_data.h"
#include "binding/arguments.h"
#include "binding/errors.h"

namespace hearth {

class OpenJob : public Job {
 public:
  OpenJob(std::shared_ptr<StepThread> thread, std::string path, FileAccess access)
      : owner_(std::move(thread)), path_(std::move(path)), access_(access) {}

  void run(ThreadPool&) override { file_ = std::make_shared<const MappedFile>(path_, access_); }

  Napi::Value result(Napi::Env env) override {
    const Napi::Object object = addon_data(env).file.New({});
    FileObject& wrapper = *FileObject::Unwrap(object);
    wrapper.thread_ = owner_;
    wrapper.size_ = static_cast<double>(file_->size());
    wrapper.modified_ns_ = file_->modified_ns();
    wrapper.file_ = std::move(file_);
    return object;
  }

 private:
  std::shared_ptr<StepThread> owner_;
  std::string path_;
  FileAccess access_;
  std::shared_ptr<const MappedFile> file_;
};

namespace {

class ReadJob : public Job {
 public:
  ReadJob(std::shared_ptr<const MappedFile> file, int64_t offset, Napi::Uint8Array target)
      : file_(std::move(file)), offset_(offset), target_(Napi::Persistent(target.As<Napi::Object>())),
        data_(target.Data()), size_(static_cast<int64_t>(target.ByteLength())) {}

  // JavaScript cannot reach the target before the promise resolves, so nobody can detach it meanwhile.
  void run(ThreadPool&) override { file_->read(offset_, size_, data_); }
  Napi::Value result(Napi::Env) override { return target_.Value(); }

 private:
  std::shared_ptr<const MappedFile> file_;
  int64_t offset_;
  Napi::ObjectReference target_;
  uint8_t* data_;
  int64_t size_;
};

class IsQuickJob : public Job {
 public:
  explicit IsQuickJob(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  void run(ThreadPool&) override { is_quick_ = file_->is_quick(); }
  Napi::Value result(Napi::Env env) override { return Napi::Boolean::New(env, is_quick_); }

 private:
  std::shared_ptr<const MappedFile> file_;
  bool is_quick_ = true;
};

}  // namespace

Napi::Function FileObject::define(Napi::Env env) {
  return DefineClass(env, "File",
                     {
                         InstanceAccessor<&FileObject::size>("size"),
                         InstanceAccessor<&FileObject::modified_ns>("modifiedNs"),
                         InstanceAccessor<&FileObject::is_mapped>("isMapped"),
                         InstanceMethod<&FileObject::is_quick>("isQuick"),
                         InstanceMethod<&FileObject::read>("read"),
                         InstanceMethod<&FileObject::close>("close"),
                     });
}

FileObject::FileObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<FileObject>(info) {
  info.This().As<Napi::Object>().TypeTag(&kTypeTag);
}

Napi::Value FileObject::open(Napi::Env env, const std::shared_ptr<StepThread>& thread, const std::string& path, FileAccess access) {
  auto job = std::make_unique<OpenJob>(thread, path, access);
  const Napi::Value promise = thread->submit(env, job.get());
  job.release();
  return promise;
}

std::shared_ptr<const MappedFile> FileObject::file() const {
  if (file_ == nullptr) fail(kDisposed, "This file was closed and cannot be used again.");
  return file_;
}

Napi::Value FileObject::size(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), size_); }

/// A bigint: nanoseconds since 1970 are more than a double holds.
Napi::Value FileObject::modified_ns(const Napi::CallbackInfo& info) { return Napi::BigInt::New(info.Env(), modified_ns_); }

Napi::Value FileObject::is_mapped(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return Napi::Boolean::New(info.Env(), file()->is_mapped()); });
}

/// isQuick(): Promise<boolean>. Of a mapped file: whether it lies in huge pages, where memory would.
Napi::Value FileObject::is_quick(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const std::shared_ptr<const MappedFile> open_file = file();
    require(open_file->is_mapped(), "Only a mapped file is quick or not.");
    auto job = std::make_unique<IsQuickJob>(open_file);
    const Napi::Value promise = thread_->submit(info.Env(), job.get());
    job.release();
    return promise;
  });
}

/// read(offset: number, length: number): Promise<Uint8Array>
Napi::Value FileObject::read(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const std::shared_ptr<const MappedFile> open_file = file();
    const int64_t offset = int64_argument(info[0], "offset");
    const int64_t length = int64_argument(info[1], "length");
    // Before anything of that size is made.
    open_file->check_range(offset, length);
    const Napi::Uint8Array target = Napi::Uint8Array::New(info.Env(), static_cast<size_t>(length));
    auto job = std::make_unique<ReadJob>(open_file, offset, target);
    const Napi::Value promise = thread_->submit(info.Env(), job.get());
    job.release();
    return promise;
  });
}

/// close(): void. Twice is fine.
void FileObject::close(const Napi::CallbackInfo&) { file_.reset(); }

}  // namespace hearth
