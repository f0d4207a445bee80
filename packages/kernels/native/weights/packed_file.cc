#include "weights/packed_file.h"

#include <algorithm>
#include <cstring>

#include "files/new_file.h"
#include "runtime/aligned_buffer.h"
#include "runtime/failure.h"

namespace hearth {
namespace {

constexpr int64_t kCacheLine = 64;

/// Bytes of one write. A multiple of a huge page (2 MiB) from a multiple of it: the page cache of Linux then keeps the file in
/// huge pages, which is how a mapping gets them.
constexpr int64_t kWriteBytes = int64_t{4} << 20;

}  // namespace

void check_packed_layout(const Weights& weights, const std::vector<int64_t>& offsets, int64_t file_bytes) {
  require(static_cast<int64_t>(offsets.size()) == weights.size(), "There are ", offsets.size(), " offsets for ", weights.size(), " weights.");
  int64_t end = 0;
  for (int32_t index = 0; index < weights.size(); ++index) {
    const Tensor& tensor = weights.at(index);
    const int64_t offset = offsets[static_cast<std::size_t>(index)];
    require(tensor.num_packed_rows == tensor.rows, "Weight ", index, " is not complete.");
    require(offset >= end && offset % kCacheLine == 0 && tensor.data.size() <= file_bytes - offset, "Weight ", index, " cannot lie at ",
            offset, " of a packed file of ", file_bytes, " bytes.");
    end = offset + tensor.data.size();
  }
}

void write_packed_file(const std::string& path, const Weights& weights, const std::vector<int64_t>& offsets, int64_t file_bytes,
                       const std::atomic<bool>& cancelled) {
  NewFile file(path);
  AlignedBuffer piece(kWriteBytes, "packed file");
  int32_t index = 0;
  for (int64_t begin = 0; begin < file_bytes; begin += kWriteBytes) {
    if (cancelled.load(std::memory_order_relaxed)) fail(kAborted, "Writing ", path, " was cancelled.");
    const int64_t end = std::min(begin + kWriteBytes, file_bytes);
    std::memset(piece.data(), 0, static_cast<std::size_t>(kWriteBytes));
    while (index < weights.size()) {
      const TensorBytes& bytes = weights.at(index).data;
      const int64_t offset = offsets[static_cast<std::size_t>(index)];
      const int64_t from = std::max(offset, begin);
      const int64_t to = std::min(offset + bytes.size(), end);
      if (from < to) std::memcpy(piece.data() + (from - begin), bytes.data() + (from - offset), static_cast<std::size_t>(to - from));
      if (offset + bytes.size() > end) break;
      ++index;
    }
    file.append(piece.data(), end - begin);
  }
}

}  // namespace hearth
