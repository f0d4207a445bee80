import type { QuantizableDtype } from './quantize-blocks.ts';

/**
 * Quantizes floats as `quantizeBlocks` does, byte for byte, without holding the event loop. Backends bring one that uses
 * their threads.
 */
export interface Quantizer {
  /**
   * @param values whole rows, or any multiple of the block size; not to be changed until the promise is settled
   * @throws what `quantizeBlocks` throws
   */
  quantize(dtype: QuantizableDtype, values: Float32Array): Promise<Uint8Array>;
}
