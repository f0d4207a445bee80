import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeElements } from './decode-elements.ts';
import { type WeightDtype, weightByteLength, weightDtypes } from './dtypes.ts';
import { f8e4m3Values } from './formats/f8-format.ts';

/** Made by tools/formats/make-vectors.py: stored blocks and the floats that `gguf` or PyTorch decode them to, in base64. */
function vectorsOf(dtype: string): { stored: Uint8Array; values: Uint8Array } {
  const json = JSON.parse(readFileSync(new URL(`./__fixtures__/${dtype}.json`, import.meta.url), 'utf8'));
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  return { stored: bytes(json.stored), values: bytes(json.values) };
}

const withVectors = readdirSync(new URL('./__fixtures__/', import.meta.url))
  .map((name) => name.replace('.json', ''))
  .sort() as WeightDtype[];

const bitsOf = (values: Float32Array) => [...new Uint32Array(values.buffer, values.byteOffset, values.length)];

describe('decodeElements', () => {
  it('has vectors for every type but plain f32 and the layouts of our own', () => {
    const without = Object.keys(weightDtypes).filter((dtype) => !withVectors.includes(dtype as WeightDtype));
    expect(without).toEqual(['f32', 'int4_g32', 'int4_g128']);
  });

  it.each(withVectors)('%s: gives the bits that others decode', (dtype) => {
    const { stored, values } = vectorsOf(dtype);
    const decoded = decodeElements(dtype, stored);
    expect(decoded.length).toBeGreaterThanOrEqual(448);
    const expected = new Float32Array(values.buffer);
    expect(stored.length).toBe(weightByteLength(dtype, expected.length));
    expect(bitsOf(decoded)).toEqual(bitsOf(expected));
  });

  it('f32: gives the bits back, from an odd place in a buffer', () => {
    const bits = Uint32Array.of(0, 0x80000000, 1, 0x3f800000, 0x7f7fffff, 0xff800000);
    const bytes = new Uint8Array(1 + bits.byteLength);
    bytes.set(new Uint8Array(bits.buffer), 1);
    expect(bitsOf(decodeElements('f32', bytes.subarray(1)))).toEqual([...bits]);
  });

  it.each(Object.keys(weightDtypes) as WeightDtype[])('%s: reads blocks from the middle of a buffer', (dtype) => {
    const stored = Uint8Array.from({ length: 3 * weightDtypes[dtype].blockBytes }, (_, i) => (i * 37) & 0x3f);
    const shifted = new Uint8Array(stored.length + 3);
    shifted.set(stored, 3);
    const decoded = decodeElements(dtype, shifted.subarray(3));
    expect(decoded.some((value) => value !== 0)).toBe(true);
    expect(bitsOf(decoded)).toEqual(bitsOf(decodeElements(dtype, stored)));
  });
});

describe('f8e4m3Values', () => {
  it('has NaN at the two codes that PyTorch has it, and nowhere else', () => {
    const codes = [...f8e4m3Values.keys()].filter((code) => Number.isNaN(f8e4m3Values[code]));
    expect(codes).toEqual([0x7f, 0xff]);
  });

  it('ascends over the positive codes up to 448, and mirrors them', () => {
    expect(f8e4m3Values[0x7e]).toBe(448);
    for (let code = 1; code < 0x7f; code++) {
      expect(f8e4m3Values[code]!).toBeGreaterThan(f8e4m3Values[code - 1]!);
      expect(f8e4m3Values[code | 0x80]).toBe(-f8e4m3Values[code]!);
    }
  });
});
