import type { CheckedWeight } from '../check-sources.ts';
import { packedWeightBytes } from '../load-weights.ts';

/** The header takes the first page of a file, whatever stands in it. */
export const packedHeaderBytes = 4096;
/** Every weight starts on a cache line, as kernels want it. */
const alignment = 64;

/** Where weights lie in a packed file. It follows from the weights alone: nothing of it is read from a file. */
export interface PackedLayout {
  /** By weight: bytes from the start of the file, ascending, multiples of 64. */
  readonly offsets: readonly number[];
  readonly fileBytes: number;
  /** Bytes of the weights, without what is between them. */
  readonly packedBytes: number;
}

/** One weight after another, behind the header. */
export function packedLayout(weights: readonly CheckedWeight[]): PackedLayout {
  const offsets: number[] = [];
  let end = packedHeaderBytes;
  let packedBytes = 0;
  for (const weight of weights) {
    const offset = Math.ceil(end / alignment) * alignment;
    offsets.push(offset);
    end = offset + packedWeightBytes(weight);
    packedBytes += packedWeightBytes(weight);
  }
  return { offsets, fileBytes: end, packedBytes };
}
