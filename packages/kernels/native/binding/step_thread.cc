#include "binding/step_thread.h"

#include <new>
#include <utility>

#include "binding/errors.h"
#include "runtime/float_environment.h"

namespace hearth {

Napi::Error Job::error(Napi::Env env) { return make_error(env, error_code_, error_message_); }

/// The last job: the thread ends after it.
class StopJob : public Job {
 public:
  explicit StopJob(StepThread& thread) : target_(thread) {}
  void run(ThreadPool&) override {
    const std::lock_guard<std::mutex> lock(target_.mutex_);
    target_.stopping_ = true;
  }
  Napi::Value result(Napi::Env env) override {
    target_.join();
    return env.Undefined();
  }

 private:
  StepThread& target_;
};

std::shared_ptr<StepThread> StepThread::start(Napi::Env env, int num_threads) {
  std::shared_ptr<StepThread> self(new StepThread());
  self->env_ = env;
  self->pool_ = std::make_unique<ThreadPool>(num_threads);
  self->num_threads_ = self->pool_->num_threads();
  const Napi::String name = Napi::String::New(env, "hearth step");
  napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &self->answer_);
  if (status != napi_ok) {
    // Nothing else may be thrown over an exception that is already pending.
    bool is_pending = false;
    napi_is_exception_pending(env, &is_pending);
    if (is_pending) throw env.GetAndClearPendingException();
    fail("internal", "Cannot create the function that answers steps (status ", static_cast<int>(status), ").");
  }
  napi_unref_threadsafe_function(env, self->answer_);
  // Hooks run in reverse order: this one, which joins the threads, before the thread-safe function's own.
  napi_add_env_cleanup_hook(env, on_environment_end, self.get());
  self->thread_ = std::thread([raw = self.get()] { raw->loop(); });
  return self;
}

StepThread::~StepThread() {
  if (environment_ended_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  join();
  if (answer_ == nullptr) return;
  napi_remove_env_cleanup_hook(env_, on_environment_end, this);
  napi_release_threadsafe_function(answer_, napi_tsfn_release);
}

void StepThread::join() {
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StepThread::on_environment_end(void* data) {
  StepThread& self = *static_cast<StepThread*>(data);
  Job* left;
  {
    const std::lock_guard<std::mutex> lock(self.mutex_);
    self.stopping_ = true;
    if (self.running_ != nullptr) self.running_->cancel();
    left = std::exchange(self.first_, nullptr);
    self.last_ = nullptr;
  }
  self.join();
  self.environment_ended_ = true;
  // Jobs that never ran. Those that have run are in the thread-safe function's queue, which ends with settle(nullptr, ...).
  // The last one may hold the last reference to `self`.
  const std::shared_ptr<StepThread> alive = self.shared_from_this();
  while (left != nullptr) {
    Job* job = std::exchange(left, left->next_);
    job->thread_.reset();
    job->settled();
  }
}

Napi::Value StepThread::submit(Napi::Env env, Job* job) {
  if (refuses_jobs_) fail(kDisposed, "This backend was disposed and cannot be used again.");
  napi_value promise;
  if (napi_create_promise(env, &job->deferred_, &promise) != napi_ok) throw Napi::Error::New(env);
  job->thread_ = shared_from_this();
  job->next_ = nullptr;
  job->error_code_ = nullptr;
  if (num_pending_++ == 0) napi_ref_threadsafe_function(env, answer_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    (last_ == nullptr ? first_ : last_->next_) = job;
    last_ = job;
  }
  changed_.notify_one();
  return Napi::Value(env, promise);
}

Napi::Value StepThread::stop(Napi::Env env) {
  const Napi::Value promise = submit(env, new StopJob(*this));
  refuses_jobs_ = true;
  return promise;
}

void StepThread::loop() {
  set_float_environment();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    if (stopping_) break;
    Job* job = first_;
    first_ = job->next_;
    if (first_ == nullptr) last_ = nullptr;
    running_ = job;
    lock.unlock();
    run_job(job);
    lock.lock();
    running_ = nullptr;
    // From here on the job belongs to the JavaScript thread. The call cannot block (the queue has no limit) and fails
    // only when the environment ends, which waits for this thread and then releases what is left.
    if (napi_call_threadsafe_function(answer_, job, napi_tsfn_nonblocking) != napi_ok) {
      (last_ == nullptr ? first_ : last_->next_) = job;
      job->next_ = nullptr;
      last_ = job;
      break;
    }
  }
  lock.unlock();
  pool_.reset();
}

void StepThread::run_job(Job* job) {
  try {
    job->run(*pool_);
  } catch (const Failure& failure) {
    job->error_code_ = failure.code();
    job->error_message_ = failure.what();
  } catch (const std::bad_alloc&) {
    job->error_code_ = kLimitExceeded;
    job->error_message_ = "There is not enough memory.";
  } catch (const std::exception& error) {
    job->error_code_ = "internal";
    job->error_message_ = error.what();
  }
}

/// The thread-safe function's callback. `env` is null when the environment has ended.
void StepThread::settle(napi_env env, napi_value, void*, void* data) {
  Job* job = static_cast<Job*>(data);
  const std::shared_ptr<StepThread> thread = std::move(job->thread_);
  if (env != nullptr) {
    if (--thread->num_pending_ == 0) napi_unref_threadsafe_function(env, thread->answer_);
    const napi_deferred deferred = job->deferred_;
    try {
      if (job->error_code_ == nullptr) {
        napi_resolve_deferred(env, deferred, job->result(env));
      } else {
        napi_reject_deferred(env, deferred, job->error(env).Value());
      }
    } catch (const Napi::Error& error) {
      // The result could not be made (no memory, or the environment is being terminated).
      napi_reject_deferred(env, deferred, error.Value());
    }
  }
  job->settled();
}

}  // namespace hearth
