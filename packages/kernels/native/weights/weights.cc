#include "weights/weights.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/failure.h"
#include "weights/pack.h"

namespace hearth {
namespace {

/// Source bytes that one thread packs at a time: large enough for big reads, small enough to spread over threads.
constexpr int64_t kChunkBytes = int64_t{512} << 10;

/// Most elements in one direction: keeps every product of sizes within int64.
constexpr int64_t kMostElements = int64_t{1} << 31;

/// places[order[i]] = i. Throws Failure, naming `what` ("row"), unless order is a permutation of 0 .. size - 1.
std::vector<uint32_t> inverted(const std::vector<uint32_t>& order, int64_t size, const char* what) {
  constexpr uint32_t kFree = 0xffffffffu;
  require(static_cast<int64_t>(order.size()) == size, "The ", what, " order has ", order.size(), " entries for ", size, " ", what, "s.");
  std::vector<uint32_t> places(order.size(), kFree);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const uint32_t at = order[i];
    require(at < order.size() && places[at] == kFree, "The ", what, " order names ", what, " ", at, " at ", i,
            ", which is not there or was named before.");
    places[at] = static_cast<uint32_t>(i);
  }
  return places;
}

/// Throws Failure unless there can be a matrix of these sizes with such an order of columns.
void check_matrix(Dtype dtype, int64_t rows, int64_t columns, const std::vector<uint32_t>& column_order) {
  require(rows >= 1 && rows < kMostElements && columns >= 1 && columns < kMostElements, "A matrix of ", rows, " x ", columns,
          " is outside the limits.");
  const int64_t block = dtype_info(dtype).block_elements;
  require(columns % block == 0, "A ", dtype_info(dtype).name, " row must have a multiple of ", block, " columns, got ", columns, ".");
  if (column_order.empty()) return;
  require(is_quantized(dtype), "A ", dtype_info(dtype).name, " matrix cannot have a column order.");
  inverted(column_order, columns, "column");
}

}  // namespace

int32_t Weights::add_matrix(Dtype dtype, int64_t rows, int64_t columns, const std::vector<uint32_t>& row_order,
                            std::vector<uint32_t> column_order) {
  check_matrix(dtype, rows, columns, column_order);
  std::vector<uint32_t> places;
  if (!row_order.empty()) places = inverted(row_order, rows, "row");
  TensorBytes data(AlignedBuffer(packed_bytes(dtype, rows, columns), "weights", HugePages::yes));
  tensors_.push_back(Tensor{true, dtype, rows, columns, std::move(data), 0, std::move(places), shared_order(std::move(column_order))});
  return size() - 1;
}

int32_t Weights::add_vector(const float* values, int64_t length) {
  require(length >= 1 && length < kMostElements, "A vector of ", length, " elements is outside the limits.");
  AlignedBuffer data(length * static_cast<int64_t>(sizeof(float)), "weights");
  std::memcpy(data.data(), values, static_cast<std::size_t>(data.size()));
  tensors_.push_back(Tensor{false, Dtype::f32, 1, length, TensorBytes(std::move(data)), 1, {}, nullptr});
  return size() - 1;
}

int32_t Weights::add_packed_matrix(Dtype dtype, int64_t rows, int64_t columns, std::vector<uint32_t> column_order,
                                   std::shared_ptr<const MappedFile> file, int64_t offset) {
  check_matrix(dtype, rows, columns, column_order);
  TensorBytes data(std::move(file), offset, packed_bytes(dtype, rows, columns));
  tensors_.push_back(Tensor{true, dtype, rows, columns, std::move(data), 0, {}, shared_order(std::move(column_order))});
  return size() - 1;
}

void Weights::load_packed(int32_t first, int32_t count, ThreadPool& pool) {
  require(count >= 0 && count <= size(), "There are no ", count, " weights.");
  for (int32_t index = first; index < first + count; ++index) {
    Tensor& tensor = mutable_at(index);
    require(tensor.data.is_of_file(), "Weight ", index, " is not of a packed file.");
    tensor.data.load(pool);
    tensor.num_packed_rows = tensor.rows;
  }
}

std::shared_ptr<const std::vector<uint32_t>> Weights::shared_order(std::vector<uint32_t> order) const {
  if (order.empty()) return nullptr;
  for (const Tensor& tensor : tensors_) {
    if (tensor.column_order != nullptr && *tensor.column_order == order) return tensor.column_order;
  }
  return std::make_shared<const std::vector<uint32_t>>(std::move(order));
}

const Tensor& Weights::at(int32_t index) const {
  require(index >= 0 && index < size(), "There is no weight ", index, "; there are ", size(), ".");
  return tensors_[static_cast<std::size_t>(index)];
}

void Weights::pack(int32_t index, const RowSource& source, int64_t first_row, int64_t num_rows, ThreadPool& pool) {
  Tensor& tensor = mutable_at(index);
  require(tensor.is_matrix && !tensor.data.is_of_file(), "Weight ", index, " is a vector, or packed already.");
  require(first_row == tensor.num_packed_rows && num_rows >= 1 && num_rows <= tensor.rows - first_row, "Rows ", first_row, " to ",
          first_row + num_rows, " of weight ", index, " cannot be packed after ", tensor.num_packed_rows, " of ", tensor.rows, ".");
  const int64_t bytes_per_row = file_row_bytes(tensor.dtype, tensor.columns);
  const int64_t num_bytes = num_rows * bytes_per_row;
  if (source.file != nullptr) {
    source.file->check_range(source.offset, num_bytes);
    source.file->will_need(source.offset, num_bytes);
  } else {
    require(source.num_bytes == num_bytes, "Rows of weight ", index, " take ", num_bytes, " bytes, got ", source.num_bytes, ".");
  }
  const bool reads = source.file != nullptr && !source.file->is_mapped();

  const int64_t rows_per_chunk = std::max<int64_t>(kTileRows, kChunkBytes / bytes_per_row / kTileRows * kTileRows);
  const int64_t num_chunks = (num_rows + rows_per_chunk - 1) / rows_per_chunk;
  const uint32_t* places = tensor.places.empty() ? nullptr : tensor.places.data();
  AlignedBuffer read_buffers(reads ? pool.num_threads() * rows_per_chunk * bytes_per_row : 0, "read buffers");
  std::mutex mutex;
  std::exception_ptr first_error;
  pool.parallel_for(num_chunks, [&](int64_t chunk, int thread) {
    const int64_t begin = chunk * rows_per_chunk;
    const int64_t count = std::min(rows_per_chunk, num_rows - begin);
    const int64_t offset = source.offset + begin * bytes_per_row;
    try {
      const uint8_t* rows;
      if (reads) {
        uint8_t* buffer = read_buffers.data() + thread * rows_per_chunk * bytes_per_row;
        source.file->read(offset, count * bytes_per_row, buffer);
        rows = buffer;
      } else {
        rows = source.file != nullptr ? source.file->at(offset) : source.bytes + begin * bytes_per_row;
      }
      pack_rows(tensor.dtype, tensor.columns, rows, first_row + begin, count, places, tensor.data.writable());
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (first_error == nullptr) first_error = std::current_exception();
    }
  });
  if (source.file != nullptr) source.file->release(source.offset, num_bytes);
  if (first_error != nullptr) std::rethrow_exception(first_error);
  tensor.num_packed_rows += num_rows;
  if (tensor.num_packed_rows == tensor.rows) tensor.places = {};
}

}  // namespace hearth
