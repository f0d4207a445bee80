#pragma once

#include <napi.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/failure.h"
#include "runtime/thread_pool.h"

namespace hearth {

class StepThread;

/// Work for the step thread whose end settles a promise. run() is called there; everything else on the JavaScript thread.
class Job {
 public:
  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// May throw; a Failure keeps its code.
  virtual void run(ThreadPool& pool) = 0;
  /// Asks a running job to end early; called on the JavaScript thread when the environment goes away.
  virtual void cancel() {}
  /// What the promise resolves to.
  virtual Napi::Value result(Napi::Env env) { return env.Undefined(); }
  /// What the promise rejects with, after run() has thrown.
  virtual Napi::Error error(Napi::Env env);
  /// The promise is settled, or its environment is gone. Jobs made for one use end here.
  virtual void settled() { delete this; }

 protected:
  /// Set when run() has thrown.
  const char* error_code_ = nullptr;
  std::string error_message_;

 private:
  friend class StepThread;
  Job* next_ = nullptr;
  napi_deferred deferred_ = nullptr;
  /// Keeps the thread while the job is under way.
  std::shared_ptr<StepThread> thread_;
};

/// The thread that runs steps, with its pool of workers: one call from JavaScript per job, answered through a thread-safe
/// function. The JavaScript thread computes nothing. Jobs run one after another, in order.
///
/// One environment (main thread or worker) owns it. While no job is pending it does not keep the process alive; when the
/// environment ends, the running job is cancelled and all threads are joined before anything of the environment goes.
class StepThread : public std::enable_shared_from_this<StepThread> {
 public:
  static std::shared_ptr<StepThread> start(Napi::Env env, int num_threads);
  /// No job is pending, since each keeps the thread.
  ~StepThread();

  int num_threads() const { return num_threads_; }

  /// Hands a job over and returns its promise. Throws Failure(kDisposed) after stop(); then the job is still the caller's.
  Napi::Value submit(Napi::Env env, Job* job);
  /// Ends all threads once the jobs before it are done; the promise resolves when they are gone.
  Napi::Value stop(Napi::Env env);

 private:
  StepThread() = default;
  void loop();
  void run_job(Job* job);
  void join();
  static void settle(napi_env env, napi_value, void*, void* data);
  static void on_environment_end(void* data);
  friend class StopJob;

  napi_env env_ = nullptr;
  napi_threadsafe_function answer_ = nullptr;
  int num_threads_ = 1;
  std::unique_ptr<ThreadPool> pool_;
  std::thread thread_;

  // JavaScript thread only.
  int num_pending_ = 0;
  bool refuses_jobs_ = false;
  bool environment_ended_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Under mutex_: a singly linked queue, so that handing a job over allocates nothing.
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  Job* running_ = nullptr;
  bool stopping_ = false;
};

}  // namespace hearth
