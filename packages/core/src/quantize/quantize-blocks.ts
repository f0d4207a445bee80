import { InvalidArgumentError } from '../errors/errors.ts';
import { type WeightDtype, weightByteLength, weightDtypes } from '../tensor/dtypes.ts';
import { type EncodeBlock, encodeQ4_0, encodeQ4_1, encodeQ5_0, encodeQ5_1, encodeQ8_0 } from './blocks-of-32.ts';
import { encodeIq4Nl, encodeIq4Xs } from './iq4.ts';
import { encodeQ2K, encodeQ3K, encodeQ4K, encodeQ5K, encodeQ6K } from './k-quants.ts';

const encoders = {
  q8_0: encodeQ8_0,
  q4_0: encodeQ4_0,
  q4_1: encodeQ4_1,
  q5_0: encodeQ5_0,
  q5_1: encodeQ5_1,
  iq4_nl: encodeIq4Nl,
  q2_k: encodeQ2K,
  q3_k: encodeQ3K,
  q4_k: encodeQ4K,
  q5_k: encodeQ5K,
  q6_k: encodeQ6K,
  iq4_xs: encodeIq4Xs,
} as const satisfies Partial<Record<WeightDtype, EncodeBlock>>;

/** Types that floats can be quantized to: all that GGUF files hold. */
export type QuantizableDtype = keyof typeof encoders;

export const quantizableDtypes = Object.keys(encoders) as readonly QuantizableDtype[];

/**
 * Quantizes floats to the blocks of a GGUF type (their layouts: `weightDtypes`). `q8_0`, `q4_0`, `q4_1`, `q5_0` and `q5_1`
 * take their scale from the extremes, the others search it. Codes always follow from the scales as they are stored.
 * Written for reading: it is the oracle of the native quantizer, which gives the same bytes.
 *
 * @param values whole rows, or any multiple of the block size
 * @throws InvalidArgumentError for NaN and infinity, and for values whose scale f16 cannot hold
 */
export function quantizeBlocks(dtype: QuantizableDtype, values: Float32Array): Uint8Array {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  if (values.length % blockElements !== 0) {
    throw new InvalidArgumentError(`${dtype} takes multiples of ${blockElements} values, got ${values.length}.`);
  }
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new InvalidArgumentError(`The value ${values[bad]} at ${bad} cannot be quantized to ${dtype}.`);
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const encode = encoders[dtype];
  for (let block = 0; block * blockElements < values.length; block++) {
    encode(
      values.subarray(block * blockElements, (block + 1) * blockElements),
      new DataView(bytes.buffer, block * blockBytes, blockBytes),
    );
  }
  return bytes;
}
