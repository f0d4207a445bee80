import type { WeightDtype } from '../dtypes.ts';
import { weightDtypes } from '../dtypes.ts';

/** The largest zero point: AWQ and GPTQ store 4 bits, and GPTQ adds 1. */
const largestZero = 16;

/**
 * What is wrong with blocks of the layouts of our own, for a message that begins with the tensor, or null. The blocks of GGUF
 * mean something whatever their bits are.
 */
export function blockProblem(dtype: WeightDtype, bytes: Uint8Array): string | null {
  const { blockBytes } = weightDtypes[dtype];
  if (dtype === 'int4_g32' || dtype === 'int4_g128') {
    for (let at = 0; at < bytes.length; at += blockBytes) {
      const zero = bytes[at + 2]! | (bytes[at + 3]! << 8);
      if (zero > largestZero) return `a group has the zero point ${zero}, the largest is ${largestZero}`;
    }
  }
  if (dtype === 'f8_e4m3') {
    for (let at = 0; at < bytes.length; at += blockBytes) {
      for (let i = at + 4; i < at + blockBytes; i++) {
        if ((bytes[i]! & 0x7f) === 0x7f) return `an e4m3 weight is NaN (code 0x${bytes[i]!.toString(16)})`;
      }
    }
  }
  return null;
}
