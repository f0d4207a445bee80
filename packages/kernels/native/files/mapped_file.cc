// POSIX. The only file of this addon that talks to the file system; another system needs another implementation of it.

#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime/failure.h"

namespace hearth {
namespace {

/// The part of a range widened to whole pages, as madvise wants it.
struct PageRange {
  int64_t start;
  int64_t length;
};

PageRange whole_pages(int64_t offset, int64_t length, int64_t size) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t start = offset / page * page;
  const int64_t end = std::min((offset + length + page - 1) / page * page, (size + page - 1) / page * page);
  return {start, end - start};
}

int64_t modified_ns_of(const struct stat& status) {
#if defined(__APPLE__)
  const struct timespec& time = status.st_mtimespec;
#else
  const struct timespec& time = status.st_mtim;
#endif
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

constexpr int64_t kHugePage = int64_t{2} << 20;

#if defined(__linux__)
/// Stretches of a huge page each that tell whether a file lies in huge pages.
constexpr int64_t kHugeWindows = 16;

/// Whether the system gives memory in huge pages to who asks for them.
bool has_huge_memory() {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(setting, text);
  return !text.empty() && text.find("[never]") == std::string::npos;
}

/// Bytes of mappings of files in [start, end) that the page table has in huge pages.
int64_t huge_bytes_mapped(uintptr_t start, uintptr_t end) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool is_within = false;
  int64_t bytes = 0;
  while (std::getline(maps, line)) {
    unsigned long from = 0;
    unsigned long to = 0;
    long kilobytes = 0;
    // "7f00-7f80 r--s ..." begins a mapping, "Key: value" lines describe it.
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      is_within = from >= start && from < end;
    } else if (is_within && std::sscanf(line.c_str(), "FilePmdMapped: %ld kB", &kilobytes) == 1) {
      bytes += int64_t{kilobytes} << 10;
    }
  }
  return bytes;
}
#endif

}  // namespace

MappedFile::MappedFile(const std::string& path, FileAccess access) : path_(path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer; for regular files it changes nothing.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail(kInvalidModel, "Cannot open ", path, ": ", std::strerror(errno), ".");
  struct stat status;
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    fail(kInvalidModel, path, " is not a regular file.");
  }
  size_ = static_cast<int64_t>(status.st_size);
  modified_ns_ = modified_ns_of(status);
  if (access == FileAccess::read || size_ == 0) return;
  void* mapping = mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_SHARED, descriptor_, 0);
  if (mapping == MAP_FAILED) {
    const int reason = errno;
    close(descriptor_);
    fail(kInvalidModel, "Cannot map ", path, " into memory: ", std::strerror(reason), ". Try fileAccess: 'read'.");
  }
  mapping_ = static_cast<uint8_t*>(mapping);
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(size_));
  close(descriptor_);
}

void MappedFile::check_range(int64_t offset, int64_t length) const {
  struct stat status;
  const int64_t size_now = fstat(descriptor_, &status) == 0 ? static_cast<int64_t>(status.st_size) : 0;
  const int64_t size = std::min(size_, size_now);
  if (offset < 0 || length < 0 || length > size || offset > size - length) {
    fail(kInvalidModel, path_, " has ", size, " bytes, but ", length, " bytes from ", offset,
         " on are needed. The file is cut short or damaged.");
  }
}

void MappedFile::will_need(int64_t offset, int64_t length) const {
  if (mapping_ == nullptr || length == 0) return;
  const PageRange pages = whole_pages(offset, length, size_);
  madvise(mapping_ + pages.start, static_cast<size_t>(pages.length), MADV_WILLNEED);
}

void MappedFile::release(int64_t offset, int64_t length) const {
  if (mapping_ == nullptr || length == 0) return;
  // Pages that a neighbour still needs come back from the page cache.
  const PageRange pages = whole_pages(offset, length, size_);
  madvise(mapping_ + pages.start, static_cast<size_t>(pages.length), MADV_DONTNEED);
}

void MappedFile::populate(int64_t offset, int64_t length) const {
  if (mapping_ == nullptr || length == 0) return;
  // Widened to huge pages: advice that begins within one splits the mapping there, and the page is then mapped in small ones.
  const int64_t first = offset / kHugePage * kHugePage;
  const int64_t end = std::min((offset + length + kHugePage - 1) / kHugePage * kHugePage, size_);
  const PageRange pages = whole_pages(first, end - first, size_);
  uint8_t* start = mapping_ + pages.start;
#if defined(MADV_HUGEPAGE)
  // Makes readahead fetch huge pages, where the file system has them; refused elsewhere, which changes nothing.
  madvise(start, static_cast<size_t>(pages.length), MADV_HUGEPAGE);
#endif
#if defined(MADV_POPULATE_READ)
  int result;
  do {
    result = madvise(start, static_cast<size_t>(pages.length), MADV_POPULATE_READ);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  if (result == 0) return;
  // EFAULT: past the end of a file that was cut short, or an error of the disk. Linux before 5.14 knows nothing of this.
  if (errno == EFAULT || errno == EIO) fail(kInvalidModel, "Cannot read ", length, " bytes at ", offset, " of ", path_, ". It is cut short, or the disk fails.");
#endif
  check_range(offset, length);
  madvise(start, static_cast<size_t>(pages.length), MADV_WILLNEED);
}

bool MappedFile::is_quick() const {
#if defined(__linux__)
  if (!has_huge_memory()) return true;
  const int64_t windows = std::min(kHugeWindows, size_ / kHugePage);
  if (windows == 0) return true;
  for (int64_t i = 0; i < windows; ++i) populate(size_ / windows * i / kHugePage * kHugePage, kHugePage);
  const uintptr_t start = reinterpret_cast<uintptr_t>(mapping_);
  return 4 * huge_bytes_mapped(start, start + static_cast<uintptr_t>(size_)) >= 3 * windows * kHugePage;
#else
  return true;
#endif
}

void MappedFile::read(int64_t offset, int64_t length, uint8_t* to) const {
  check_range(offset, length);
  while (length > 0) {
    const ssize_t count = pread(descriptor_, to, static_cast<size_t>(length), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail(kInvalidModel, "Cannot read ", length, " bytes at ", offset, " of ", path_, ": ",
           count < 0 ? std::strerror(errno) : "the file ends before", ".");
    }
    offset += count;
    length -= count;
    to += count;
  }
}

}  // namespace hearth
