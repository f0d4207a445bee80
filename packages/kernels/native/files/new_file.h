#pragma once

#include <cstdint>
#include <string>

namespace hearth {

/// A file that is made and written from its start to its end. Dirty pages are handed to the disk as they come, so that a large
/// file neither crowds the page cache nor leaves everything to the last sync.
class NewFile {
 public:
  /// Throws Failure(kLimitExceeded) when it is there already or cannot be made.
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends bytes. Throws Failure(kLimitExceeded), with the system's reason, when they cannot be written (a full disk).
  void append(const uint8_t* bytes, int64_t length);

 private:
  std::string path_;
  int descriptor_;
  int64_t size_ = 0;
  /// Bytes that are on their way to the disk, and those that have come there.
  int64_t started_ = 0;
  int64_t finished_ = 0;
};

}  // namespace hearth
