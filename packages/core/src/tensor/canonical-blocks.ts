import { nibblePlane, oneBitPlane, type Plane, twoBitPlane } from './code-planes.ts';
import type { QuantizedDtype, WeightDtype } from './dtypes.ts';
import { isQuantizedDtype, weightDtypes } from './dtypes.ts';
import { f8e4m3Values } from './formats/f8-format.ts';
import { iq4Codes } from './formats/iq4-formats.ts';
import { sixBitPair } from './formats/k-formats.ts';
import { f32ToF16 } from './half.ts';
import { splitQuantizedBlocks } from './quantized-blocks.ts';

/** The order of a block in packed tiles: a header, then the codes of 32 elements after 32, in planes. */
interface CanonicalOrder {
  /** Scales and minimums. */
  header(file: DataView): Uint8Array;
  /** The unsigned bits that stand for a code. */
  bits(code: number): number;
  readonly planes: readonly Plane[];
}

const asIs = (code: number) => code;

/** The types that have another order in the file. */
const canonicalOrders: Readonly<Partial<Record<QuantizedDtype, CanonicalOrder>>> = {
  q5_0: { header: (file) => bytes(file, 0, 2), bits: (code) => code + 16, planes: [nibblePlane, oneBitPlane(4)] },
  q5_1: { header: (file) => bytes(file, 0, 4), bits: asIs, planes: [nibblePlane, oneBitPlane(4)] },
  q2_k: { header: (file) => joined(bytes(file, 80, 84), bytes(file, 0, 16)), bits: asIs, planes: [twoBitPlane(0)] },
  q3_k: {
    header: (file) => joined(bytes(file, 108, 110), bytes(file, 96, 108)),
    bits: (code) => code + 4,
    planes: [twoBitPlane(0), oneBitPlane(2)],
  },
  q4_k: { header: sixBitHeader, bits: asIs, planes: [nibblePlane] },
  q5_k: { header: sixBitHeader, bits: asIs, planes: [nibblePlane, oneBitPlane(4)] },
  q6_k: {
    header: (file) => joined(bytes(file, 208, 210), bytes(file, 192, 208)),
    bits: (code) => code + 32,
    planes: [nibblePlane, twoBitPlane(4)],
  },
  iq4_xs: {
    header: (file) => joined(bytes(file, 0, 2), signedScales(file)),
    bits: (code) => iq4Codes.indexOf(code),
    planes: [nibblePlane],
  },
};

/**
 * The block of one row as packed tiles hold it, before rows are interleaved.
 *
 * @param block as in a file
 */
export function canonicalBlock(dtype: WeightDtype, block: Uint8Array): Uint8Array {
  if (dtype === 'f8_e4m3') return widenedF8Block(block);
  if (!isQuantizedDtype(dtype)) return block;
  const order = canonicalOrders[dtype];
  if (!order) return block;
  const bits = Uint8Array.from(splitQuantizedBlocks(dtype, block).codes, order.bits);
  const parts = [order.header(new DataView(block.buffer, block.byteOffset, block.byteLength))];
  for (let chunk = 0; chunk < bits.length; chunk += 32) {
    for (const plane of order.planes) parts.push(plane(bits.subarray(chunk, chunk + 32)));
  }
  return joined(...parts);
}

/** `q4_k`, `q5_k`: d, dmin, then 8 scales and 8 minimums with a byte each: what takes 12 bytes in the file takes 16. */
function sixBitHeader(file: DataView): Uint8Array {
  const pairs = Array.from({ length: 8 }, (_, s) => sixBitPair(file, 4, s));
  const scales = Uint8Array.from(pairs, ({ scale }) => scale);
  const mins = Uint8Array.from(pairs, ({ min }) => min);
  return joined(bytes(file, 0, 4), scales, mins);
}

/** `iq4_xs`: 8 scales, a signed byte each. */
function signedScales(file: DataView): Uint8Array {
  const { subScales } = splitQuantizedBlocks('iq4_xs', bytes(file, 0, file.byteLength));
  return Uint8Array.from({ length: 8 }, (_, s) => subScales![2 * s]! & 255);
}

/** The scale, then each code as the f16 of the same value: kernels convert f16 in one instruction. */
function widenedF8Block(block: Uint8Array): Uint8Array {
  const widened = new Uint8Array(weightDtypes.f8_e4m3.packedBlockBytes);
  const view = new DataView(widened.buffer);
  widened.set(block.subarray(0, 4));
  for (let i = 0; i < 32; i++) {
    view.setUint16(4 + 2 * i, f32ToF16(f8e4m3Values[block[4 + i]!]!), true);
  }
  return widened;
}

function bytes(file: DataView, from: number, to: number): Uint8Array {
  return new Uint8Array(file.buffer, file.byteOffset + from, to - from);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
