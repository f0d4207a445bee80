import {
  InvalidArgumentError,
  type QuantizableDtype,
  type Quantizer,
  quantizeBlocks,
  weightDtypes,
} from '@hearth/core';
import { dtypeNumbers, type NativeRuntime } from './addon-types.ts';
import { translatingErrors } from './native-errors.ts';

/** Quantizes on all threads of a runtime, off the JavaScript thread. The bytes are those of `quantizeBlocks`. */
export class NativeQuantizer implements Quantizer {
  readonly #runtime: NativeRuntime;

  constructor(runtime: NativeRuntime) {
    this.#runtime = runtime;
  }

  async quantize(dtype: QuantizableDtype, values: Float32Array): Promise<Uint8Array> {
    const result = await translatingErrors(() => this.#runtime.quantize(dtypeNumbers[dtype], values));
    if (typeof result !== 'number') return result;
    // The oracle finds the same fault in this block, and has words for it.
    const { blockElements } = weightDtypes[dtype];
    quantizeBlocks(dtype, values.subarray(result * blockElements, (result + 1) * blockElements));
    throw new InvalidArgumentError(`Block ${result} cannot be quantized to ${dtype}.`);
  }
}
