#include "quantize/quantize.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "quantize/encode_block.h"
#include "quantize/rounding.h"

namespace hearth {
namespace {

/// Values that one thread quantizes at a time: some tenths of a millisecond of work.
constexpr int64_t kChunkValues = 4096;

EncodeBlock encoder(Dtype dtype) {
  switch (dtype) {
    case Dtype::q8_0: return encode_q8_0;
    case Dtype::q4_0: return encode_q4_0;
    case Dtype::q4_1: return encode_q4_1;
    case Dtype::q5_0: return encode_q5_0;
    case Dtype::q5_1: return encode_q5_1;
    case Dtype::iq4_nl: return encode_iq4_nl;
    case Dtype::iq4_xs: return encode_iq4_xs;
    case Dtype::q2_k: return encode_q2_k;
    case Dtype::q3_k: return encode_q3_k;
    case Dtype::q4_k: return encode_q4_k;
    case Dtype::q5_k: return encode_q5_k;
    case Dtype::q6_k: return encode_q6_k;
    default: return nullptr;
  }
}

bool encode(EncodeBlock encode_block, const float* values, int32_t num_values, uint8_t* block) {
  for (int32_t i = 0; i < num_values; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  try {
    encode_block(values, block);
    return true;
  } catch (const HalfOverflow&) {
    return false;
  }
}

}  // namespace

bool is_quantizable(Dtype dtype) { return encoder(dtype) != nullptr; }

int64_t quantize_blocks(Dtype dtype, const float* values, int64_t num_values, uint8_t* bytes, ThreadPool& pool) {
  const DtypeInfo& info = dtype_info(dtype);
  const EncodeBlock encode_block = encoder(dtype);
  const int64_t num_blocks = num_values / info.block_elements;
  const int64_t chunk_blocks = kChunkValues / info.block_elements;
  std::atomic<int64_t> first_bad{num_blocks};
  pool.parallel_for((num_blocks + chunk_blocks - 1) / chunk_blocks, [&](int64_t chunk, int) {
    const int64_t end = std::min(num_blocks, (chunk + 1) * chunk_blocks);
    for (int64_t block = chunk * chunk_blocks; block < end; ++block) {
      if (encode(encode_block, values + block * info.block_elements, info.block_elements, bytes + block * info.block_bytes)) continue;
      // The smallest over all chunks, whichever thread came first.
      int64_t known = first_bad.load(std::memory_order_relaxed);
      while (block < known && !first_bad.compare_exchange_weak(known, block, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  return first_bad == num_blocks ? -1 : first_bad.load();
}

}  // namespace hearth
