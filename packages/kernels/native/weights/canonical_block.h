#pragma once

// Files keep the bits of a block where their writers found it handy. Before its fields are interleaved (pack.h), a block is
// rewritten to its canonical form: the same information, in the order and the planes of kernels/generic/block_format.h.
// packages/core/src/tensor/canonical-blocks.ts is the oracle of this.

#include <cstdint>

namespace hearth {

/// Reads one block of a file (block_bytes), writes its canonical form (packed_block_bytes). Throws Failure(kInvalidModel) when
/// the block holds something that its type does not have.
using Canonicalize = void (*)(const uint8_t* block, uint8_t* canonical);

// Blocks of q8_0, q4_0, q4_1 and iq4_nl are canonical as they are.

// Fifth bits in a word of their own (five_bit_blocks.cc).
void canonical_q5_0(const uint8_t* block, uint8_t* canonical);
void canonical_q5_1(const uint8_t* block, uint8_t* canonical);

// Super-blocks of 256 (super_blocks.cc).
void canonical_q2_k(const uint8_t* block, uint8_t* canonical);
void canonical_q3_k(const uint8_t* block, uint8_t* canonical);
void canonical_q4_k(const uint8_t* block, uint8_t* canonical);
void canonical_q5_k(const uint8_t* block, uint8_t* canonical);
void canonical_q6_k(const uint8_t* block, uint8_t* canonical);
void canonical_iq4_xs(const uint8_t* block, uint8_t* canonical);

// Blocks that the checkpoint package makes, and which are checked (checked_blocks.cc).
void canonical_int4_g32(const uint8_t* block, uint8_t* canonical);
void canonical_int4_g128(const uint8_t* block, uint8_t* canonical);
void canonical_f8_e4m3(const uint8_t* block, uint8_t* canonical);

}  // namespace hearth
