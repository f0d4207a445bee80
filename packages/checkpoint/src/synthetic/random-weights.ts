import { f32ToF16, type QuantizedDtype, type WeightDtype, weightDtypes } from '@hearth/core';
import { encodeElements } from '../tensor/encode.ts';

/** 32-bit xorshift (Marsaglia 2003): not for anything that matters, but the same on every machine. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    // A few rounds of mixing, so that nearby seeds have nothing in common. The state must not be 0.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0 || 1;
    for (let i = 0; i < 8; i++) this.next();
  }

  /** 0 to 2^32 − 1 */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return this.#state;
  }

  /** −1 to 1 */
  uniform(): number {
    return this.next() / 2 ** 31 - 1;
  }
}

/**
 * Blocks of a pool. A prime, so that walking round the pool row by row meets every alignment before any row repeats: two rows
 * of a tensor are equal only after 65,521 rows (times the blocks that a row and 65,521 have in common, which is 1).
 */
const poolBlocks = 65_521;

/** The same in blocks of 256 elements, which are quantized one by one, and in plain floats. */
const poolSuperBlocks = 8_191;
const poolElements = 524_287;

/**
 * Random stored elements with mean 0 and standard deviation `deviation`, to be walked round: fresh numbers for every weight
 * of a billion would take minutes.
 * @throws UnsupportedError for types that are only read
 */
export function randomPool(dtype: WeightDtype, deviation: number, seed: number): Uint8Array {
  const random = new SeededRandom(seed);
  if (dtype === 'q8_0' || dtype === 'q4_0' || dtype === 'q4_1') return randomBlocks(dtype, deviation, random);
  const { blockElements } = weightDtypes[dtype];
  const numBlocks = blockElements === 1 ? poolElements : blockElements <= 32 ? poolBlocks : poolSuperBlocks;
  // A uniform distribution on [−a, a] has the standard deviation a / √3.
  const length = numBlocks * blockElements;
  const values = Float32Array.from({ length }, () => random.uniform() * deviation * Math.sqrt(3));
  return encodeElements(dtype, values);
}

/** Blocks of the types that are nothing but a scale and codes: random codes, which is faster than to quantize. */
function randomBlocks(
  dtype: Extract<QuantizedDtype, 'q8_0' | 'q4_0' | 'q4_1'>,
  deviation: number,
  random: SeededRandom,
): Uint8Array {
  const { blockBytes } = weightDtypes[dtype];
  const bytes = new Uint8Array(poolBlocks * blockBytes);
  const view = new DataView(bytes.buffer);
  const codesAt = dtype === 'q4_1' ? 4 : 2;
  // Codes are uniform over n neighbouring integers, whose standard deviation is √((n² − 1) / 12).
  const numCodes = dtype === 'q8_0' ? 255 : 16;
  const scale = deviation / Math.sqrt((numCodes ** 2 - 1) / 12);
  for (let block = 0; block < poolBlocks; block++) {
    const at = block * blockBytes;
    // The sign changes at random, because q4_0 codes (−8 .. 7) alone have the mean −0.5.
    const blockScale = random.next() & 1 ? scale : -scale;
    view.setUint16(at, f32ToF16(blockScale), true);
    if (dtype === 'q4_1') view.setUint16(at + 2, f32ToF16(-7.5 * blockScale), true);
    for (let i = at + codesAt; i < at + blockBytes; i++) {
      const byte = random.next() >>> 24;
      // No quantizer writes the code −128.
      bytes[i] = dtype === 'q8_0' && byte === 0x80 ? 0 : byte;
    }
  }
  return bytes;
}

/** `numBytes` of the pool from the block `start` on, round and round, without copies. */
export async function* walkPool(pool: Uint8Array, start: number, numBytes: number): AsyncGenerator<Uint8Array> {
  let at = start;
  for (let left = numBytes; left > 0; ) {
    const piece = pool.subarray(at, at + left);
    yield piece;
    left -= piece.length;
    at = 0;
  }
}
