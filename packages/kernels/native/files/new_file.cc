// POSIX, as mapped_file.cc.

#include "files/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/failure.h"

namespace hearth {
namespace {

/// Bytes that may be on their way to the disk at once.
constexpr int64_t kWindowBytes = int64_t{64} << 20;

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path), descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail(kLimitExceeded, "Cannot make ", path, ": ", std::strerror(errno), ".");
}

NewFile::~NewFile() { close(descriptor_); }

void NewFile::append(const uint8_t* bytes, int64_t length) {
  const int64_t end = size_ + length;
  while (size_ < end) {
    const ssize_t count = write(descriptor_, bytes, static_cast<size_t>(end - size_));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(kLimitExceeded, "Cannot write to ", path_, ": ", count < 0 ? std::strerror(errno) : "the disk takes no more", ".");
    bytes += count;
    size_ += count;
  }
#if defined(__linux__)
  // Where a file system cannot do this, the last sync does it all.
  sync_file_range(descriptor_, started_, size_ - started_, SYNC_FILE_RANGE_WRITE);
  started_ = size_;
  if (started_ - finished_ > kWindowBytes) {
    const int64_t length_to_finish = started_ - kWindowBytes - finished_;
    sync_file_range(descriptor_, finished_, length_to_finish, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    finished_ += length_to_finish;
  }
#endif
}

}  // namespace hearth
