#pragma once

#include <cstdint>
#include <string>

namespace hearth {

enum class FileAccess { map, read };

/// A file opened for reading, by a read-only mapping or by positioned reads. The file is untrusted: it may be shorter than
/// its header says, and it may change under us. Every range is checked against the size it has now.
///
/// A mapping of a file that is cut short while we read from it faults (SIGBUS), which no check can rule out; `read` mode
/// is immune. Safe to use from several threads.
class MappedFile {
 public:
  /// Throws Failure(kInvalidModel) when the path cannot be opened or is not a regular file.
  MappedFile(const std::string& path, FileAccess access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes when it was opened.
  int64_t size() const { return size_; }
  bool is_mapped() const { return mapping_ != nullptr; }
  /// When it was changed last, as of opening it: nanoseconds since 1970.
  int64_t modified_ns() const { return modified_ns_; }

  /// Throws Failure(kInvalidModel) unless [offset, offset + length) lies within the file, as opened and as it is now.
  void check_range(int64_t offset, int64_t length) const;

  /// The mapped bytes at a checked offset. Only when is_mapped().
  const uint8_t* at(int64_t offset) const { return mapping_ + offset; }
  /// Tells the system that a range will be read soon, or will not be read again (its pages leave this process).
  void will_need(int64_t offset, int64_t length) const;
  void release(int64_t offset, int64_t length) const;
  /// Brings a checked range of the mapping into memory and into the page table, in huge pages where the system has them for
  /// files. Throws Failure(kInvalidModel) when the file cannot be read there, where a plain access would fault.
  void populate(int64_t offset, int64_t length) const;

  /// Whether accesses through the mapping are as quick as those to memory of the process: false when memory would come in huge
  /// pages and most of this file does not. Looks at some stretches, which it brings into memory. Only when is_mapped().
  bool is_quick() const;

  /// Copies a range by positioned reads. Throws Failure(kInvalidModel) when it cannot be read.
  void read(int64_t offset, int64_t length, uint8_t* to) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  int64_t modified_ns_ = 0;
  uint8_t* mapping_ = nullptr;
};

}  // namespace hearth
