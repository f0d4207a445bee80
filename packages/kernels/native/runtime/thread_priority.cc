#include "runtime/thread_priority.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hearth {

void lower_thread_priority() {
#if defined(__linux__)
  // A third of the share of an ordinary thread. Linux takes a thread where POSIX has a process.
  constexpr int kNice = 5;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
#endif
}

}  // namespace hearth
