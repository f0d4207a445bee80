import { readFileSync } from 'node:fs';
import type { WeightDtype } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { decodeElements } from './decode.ts';

interface Vectors {
  readonly types: Readonly<Record<string, { readonly stored: string; readonly values: string }>>;
}

/** Made by make-block-vectors.py with the decoders of the `gguf` Python package. */
const vectors = JSON.parse(
  readFileSync(new URL('./__fixtures__/block-vectors.json', import.meta.url), 'utf8'),
) as Vectors;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('decodeElements', () => {
  for (const [dtype, { stored, values }] of Object.entries(vectors.types)) {
    it(`${dtype}: gives the bits of the gguf package`, () => {
      const decoded = decodeElements(dtype as WeightDtype, new Uint8Array(Buffer.from(stored, 'hex')));
      expect(decoded.length).toBeGreaterThan(200);
      expect(hex(new Uint8Array(decoded.buffer))).toBe(values);
    });
  }

  it('f32: gives the bits back, from an odd place in a buffer', () => {
    const bits = Uint32Array.of(0, 0x80000000, 1, 0x3f800000, 0x7f7fffff, 0xff800000);
    const bytes = new Uint8Array(1 + bits.byteLength);
    bytes.set(new Uint8Array(bits.buffer), 1);
    const decoded = decodeElements('f32', bytes.subarray(1));
    expect([...new Uint32Array(decoded.buffer)]).toEqual([...bits]);
  });
});
