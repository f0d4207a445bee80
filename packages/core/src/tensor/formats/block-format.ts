import { f16ToF32 } from '../half.ts';

/**
 * The numbers of consecutive quantized elements of one row or several.
 *
 * value[i] = fround(scale · subScale · code) + min, the sum rounded too; see `dequantizeBlocks`.
 */
export interface QuantizedBlocks {
  /** [numElements], signed: what a type subtracts from the stored bits, or looks up for them, is already applied. */
  readonly codes: Int8Array;
  /** [numElements / 32]. The K types share one scale among 256 elements; here it stands eight times. */
  readonly scales: Float32Array;
  /** [numElements / 16], integers; null for types without. Where 32 elements share one, it stands twice. */
  readonly subScales: Int8Array | null;
  /** [numElements / minElements], with their sign; null for types without. */
  readonly mins: Float32Array | null;
  /** Elements that share a minimum. */
  readonly minElements: 16 | 32;
}

/** How one type keeps its numbers in a block of `weightDtypes[dtype].blockElements` elements. */
export interface BlockFormat {
  readonly hasSubScales: boolean;
  readonly hasMins: boolean;
  /** Elements that share a minimum; 32 where there is none. */
  readonly minElements: 16 | 32;
  /** Takes apart the block at byte `at` of a file; its first element is element `first` of `into`. */
  readBlock(file: DataView, at: number, into: QuantizedBlocks, first: number): void;
}

/** A little-endian f16. */
export function readHalf(file: DataView, at: number): number {
  return f16ToF32(file.getUint16(at, true));
}

/** 32 nibbles in 16 bytes: byte j holds element j in its low bits and element 16 + j in its high bits. */
export function readNibbles(file: DataView, at: number, codes: Int8Array, first: number, toSubtract: number): void {
  for (let j = 0; j < 16; j++) {
    const byte = file.getUint8(at + j);
    codes[first + j] = (byte & 15) - toSubtract;
    codes[first + 16 + j] = (byte >> 4) - toSubtract;
  }
}
