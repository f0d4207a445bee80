import type { StorageDtype } from '../quantize/storage-dtype.ts';

/**
 * `general.file_type` of a file whose matrices mostly have this type, as the GGUF specification and llama.cpp number them.
 * Readers show it; none computes with it. For K types it is the number of the plain mix ("small"), where there are several.
 */
export const ggufFileTypes: Readonly<Record<StorageDtype, number>> = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_1: 3,
  q8_0: 7,
  q5_0: 8,
  q5_1: 9,
  q2_k: 10,
  q3_k: 11,
  q4_k: 14,
  q5_k: 16,
  q6_k: 18,
  iq4_nl: 25,
  iq4_xs: 30,
  bf16: 32,
};
