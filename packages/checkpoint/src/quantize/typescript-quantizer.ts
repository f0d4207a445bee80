import { type QuantizableDtype, type Quantizer, quantizeBlocks, weightByteLength } from '@hearth/core';
import { TimeSlice } from '../io/time-slice.ts';

/** Elements between two looks at the clock: whole blocks of every type, at most some 4 ms of the slowest one. */
const pieceElements = 2 ** 12;

/** Quantizes on the JavaScript thread, which it leaves to others every 10 ms. What is used where no backend brings a faster one. */
export const typescriptQuantizer: Quantizer = {
  async quantize(dtype: QuantizableDtype, values: Float32Array): Promise<Uint8Array> {
    if (values.length <= pieceElements) return quantizeBlocks(dtype, values);
    const bytes = new Uint8Array(weightByteLength(dtype, values.length));
    const slice = new TimeSlice();
    for (let at = 0; at < values.length; at += pieceElements) {
      if (slice.isSpent) await slice.next();
      bytes.set(quantizeBlocks(dtype, values.subarray(at, at + pieceElements)), weightByteLength(dtype, at));
    }
    return bytes;
  },
};
