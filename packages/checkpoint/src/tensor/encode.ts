import {
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  InvalidArgumentError,
  isQuantizedDtype,
  type QuantizedDtype,
  UnsupportedError,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';

/**
 * Floats to the bytes of a storage type. Plain floats round to nearest even. Quantized types work in blocks of 32, with codes
 * computed from the scale (and minimum) as rounded to f16, halves rounded up:
 *
 * - `q8_0`: scale = largest magnitude / 127
 * - `q4_0`: scale = value of largest magnitude, with its sign, / −8, so that it is exact up to the rounding of the scale
 * - `q4_1`: scale = (largest − smallest) / 15, minimum = smallest
 *
 * @param values a multiple of the block size
 * @throws InvalidArgumentError for a finite value that would become infinite, and for what a quantized type cannot hold
 * @throws UnsupportedError for types that are only read
 */
export function encodeElements(dtype: WeightDtype, values: Float32Array): Uint8Array {
  const { blockElements } = weightDtypes[dtype];
  if (values.length % blockElements !== 0) {
    throw new InvalidArgumentError(`${dtype} takes multiples of ${blockElements} values, got ${values.length}.`);
  }
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const view = new DataView(bytes.buffer);
  if (blockElements > 1) {
    const encode = isQuantizedDtype(dtype) ? encodeBlock[dtype] : undefined;
    if (!encode) {
      throw new UnsupportedError(
        `${dtype} is read, but not written. Write f32, f16, bf16, ${Object.keys(encodeBlock).join(', ')}.`,
        { details: { dtype } },
      );
    }
    const bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0) throw new InvalidArgumentError(`The value ${values[bad]} at ${bad} cannot be quantized to ${dtype}.`);
    const { blockBytes } = weightDtypes[dtype];
    for (let block = 0; block * blockElements < values.length; block++) {
      const inBlock = values.subarray(block * blockElements, (block + 1) * blockElements);
      encode(inBlock, view, block * blockBytes);
    }
    return bytes;
  }
  if (dtype === 'f32') {
    for (let i = 0; i < values.length; i++) view.setFloat32(i * 4, values[i]!, true);
    return bytes;
  }
  const [toBits, infinity] = dtype === 'f16' ? ([f32ToF16, 0x7c00] as const) : ([f32ToBf16, 0x7f80] as const);
  for (let i = 0; i < values.length; i++) {
    const bits = toBits(values[i]!);
    if ((bits & 0x7fff) === infinity && Number.isFinite(values[i]!)) {
      throw new InvalidArgumentError(`The value ${values[i]} at ${i} is too large for ${dtype}.`);
    }
    view.setUint16(i * 2, bits, true);
  }
  return bytes;
}

type EncodeBlock = (values: Float32Array, view: DataView, at: number) => void;

const encodeBlock: Readonly<Partial<Record<QuantizedDtype, EncodeBlock>>> = {
  q8_0(values, view, at) {
    let largest = 0;
    for (const value of values) largest = Math.max(largest, Math.abs(value));
    const scale = writeHalf(view, at, largest / 127);
    for (let i = 0; i < 32; i++) view.setInt8(at + 2 + i, nearestCode(values[i]! / scale, -127, 127));
  },

  q4_0(values, view, at) {
    let extreme = 0;
    for (const value of values) if (Math.abs(value) > Math.abs(extreme)) extreme = value;
    const scale = writeHalf(view, at, extreme / -8);
    writeNibbles(view, at + 2, (i) => nearestCode(values[i]! / scale + 8, 0, 15, 8));
  },

  q4_1(values, view, at) {
    let smallest = values[0]!;
    let largest = values[0]!;
    for (const value of values) {
      smallest = Math.min(smallest, value);
      largest = Math.max(largest, value);
    }
    const scale = writeHalf(view, at, (largest - smallest) / 15);
    const minimum = writeHalf(view, at + 2, smallest);
    writeNibbles(view, at + 4, (i) => nearestCode((values[i]! - minimum) / scale, 0, 15));
  },
};

/** Writes a scale or minimum and gives back its value as readers will see it. */
function writeHalf(view: DataView, at: number, value: number): number {
  const bits = f32ToF16(value);
  if ((bits & 0x7c00) === 0x7c00) {
    throw new InvalidArgumentError(
      `A block has the scale or minimum ${value}, which f16 cannot hold: its weights are far too large.`,
    );
  }
  view.setUint16(at, bits, true);
  return f16ToF32(bits);
}

/** `ifNoScale` is the code of zero, for blocks whose scale is 0 (all zeros, or smaller than f16 can hold). */
function nearestCode(quotient: number, smallest: number, largest: number, ifNoScale = 0): number {
  if (!Number.isFinite(quotient)) return ifNoScale;
  return Math.min(largest, Math.max(smallest, Math.round(quotient)));
}

/** Element i in the low nibble of byte i, element i + 16 in its high nibble. */
function writeNibbles(view: DataView, at: number, code: (i: number) => number): void {
  for (let i = 0; i < 16; i++) view.setUint8(at + i, code(i) | (code(i + 16) << 4));
}
