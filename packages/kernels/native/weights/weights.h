#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "files/mapped_file.h"
#include "kernels/dtype.h"
#include "runtime/thread_pool.h"
#include "weights/tensor_bytes.h"

namespace hearth {

/// A matrix in row tiles, or a vector of f32.
struct Tensor {
  bool is_matrix;
  Dtype dtype;
  /// [rows, columns]; a vector has 1 row.
  int64_t rows;
  int64_t columns;
  TensorBytes data;
  /// Rows packed so far. Only a complete tensor may be computed with.
  int64_t num_packed_rows;
  /// Packed place of each row of the file, while rows are packed; empty when the order is the same.
  std::vector<uint32_t> places;
  /// Packed column i meets activation column_order[i]; null when the order is the same. Equal orders of a model are one vector.
  std::shared_ptr<const std::vector<uint32_t>> column_order;
};

/// Where rows to pack come from: a file (mapped or read), or bytes that the caller keeps alive.
struct RowSource {
  std::shared_ptr<const MappedFile> file;
  /// Of row `first_row`, in the file.
  int64_t offset = 0;
  /// When there is no file.
  const uint8_t* bytes = nullptr;
  int64_t num_bytes = 0;
};

/// The packed weights of a model, the only copy in memory. Tensors are added and filled one after another.
class Weights {
 public:
  /// An empty matrix of zeros; packed row i will be file row row_order[i], and packed column i, which is that of the file, is
  /// column column_order[i] of the matrix. Both are permutations, or empty for the same order; only quantized types may have
  /// a column order. Returns its index. Throws Failure on sizes that cannot be. No pack() may be running.
  int32_t add_matrix(Dtype dtype, int64_t rows, int64_t columns, const std::vector<uint32_t>& row_order,
                     std::vector<uint32_t> column_order);
  int32_t add_vector(const float* values, int64_t length);

  /// A matrix that was packed before, at an offset of a packed file (packed_file.h). It is complete after load_packed().
  /// Throws Failure on sizes that cannot be, and on a range that is not within the file.
  int32_t add_packed_matrix(Dtype dtype, int64_t rows, int64_t columns, std::vector<uint32_t> column_order,
                            std::shared_ptr<const MappedFile> file, int64_t offset);
  /// Brings such matrices, [first, first + count), into memory, on all threads of the pool.
  void load_packed(int32_t first, int32_t count, ThreadPool& pool);

  /// Packs rows [first_row, first_row + num_rows) of the file into a matrix, on all threads of the pool. Rows come in
  /// ascending order, each once. Pages of a mapped file are released afterwards.
  void pack(int32_t index, const RowSource& source, int64_t first_row, int64_t num_rows, ThreadPool& pool);

  int32_t size() const { return static_cast<int32_t>(tensors_.size()); }
  /// Throws Failure(kInvalidArgument) when there is no such tensor.
  const Tensor& at(int32_t index) const;

 private:
  Tensor& mutable_at(int32_t index) { return const_cast<Tensor&>(at(index)); }
  /// The order itself, or the one that a tensor already has; null when it is empty.
  std::shared_ptr<const std::vector<uint32_t>> shared_order(std::vector<uint32_t> order) const;

  std::vector<Tensor> tensors_;
};

}  // namespace hearth
