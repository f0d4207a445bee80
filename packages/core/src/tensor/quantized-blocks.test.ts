import { describe, expect, it } from 'vitest';
import type { QuantizedDtype } from './dtypes.ts';
import { dequantizeBlocks, dequantizeInto, emptyQuantizedBlocks, splitQuantizedBlocks } from './quantized-blocks.ts';

const half = { one: 0x3c00, minusTwo: 0xc000, smallest: 0x0001, largest: 0x7bff, minusZero: 0x8000 } as const;

/** A block by hand: f16 fields, then code bytes. */
function block(halves: readonly number[], codes: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(halves.length * 2 + codes.length);
  const view = new DataView(bytes.buffer);
  for (const [i, bits] of halves.entries()) view.setUint16(i * 2, bits, true);
  bytes.set(codes, halves.length * 2);
  return bytes;
}

function values(dtype: QuantizedDtype, bytes: Uint8Array): Float32Array {
  return dequantizeBlocks(splitQuantizedBlocks(dtype, bytes));
}

const range = <T>(length: number, of: (i: number) => T): T[] => Array.from({ length }, (_, i) => of(i));
const repeat = (value: number, length: number) => new Array<number>(length).fill(value);
/** Nibble bytes whose element i is i mod 16 and element i + 16 is 15 − i. */
const nibbles = range(16, (i) => i | ((15 - i) << 4));

describe('splitQuantizedBlocks', () => {
  it('q8_0: signed codes in order', () => {
    const codes = range(32, (i) => i * 8 - 128);
    const blocks = splitQuantizedBlocks(
      'q8_0',
      block(
        [half.minusTwo],
        codes.map((code) => code & 255),
      ),
    );
    expect([...blocks.codes]).toEqual(codes);
    expect([...blocks.scales]).toEqual([-2]);
    expect(blocks.mins).toBeNull();
  });

  it('q4_0: low nibbles are elements 0..15, high nibbles 16..31, each less 8', () => {
    const blocks = splitQuantizedBlocks('q4_0', block([half.one], nibbles));
    expect([...blocks.codes]).toEqual([...range(16, (i) => i - 8), ...range(16, (i) => 7 - i)]);
    expect(blocks.mins).toBeNull();
  });

  it('q4_1: the scale comes before the minimum; codes are not shifted', () => {
    const blocks = splitQuantizedBlocks('q4_1', block([half.one, half.minusTwo], nibbles));
    expect([...blocks.codes]).toEqual([...range(16, (i) => i), ...range(16, (i) => 15 - i)]);
    expect([...blocks.scales]).toEqual([1]);
    expect([...blocks.mins!]).toEqual([-2]);
  });

  it('q5_0: bit i of the four bytes is the fifth bit of element i', () => {
    const blocks = splitQuantizedBlocks('q5_0', block([half.one, 0x0001, 0x8000], nibbles));
    expect([...blocks.codes]).toEqual([0, ...range(15, (i) => i - 15), ...range(15, (i) => -1 - i), 0]);
  });

  it('q2_k: a scale and a minimum for each 16, the minimum subtracted', () => {
    const bytes = new Uint8Array(84);
    bytes.set(range(16, (s) => s | ((15 - s) << 4)));
    bytes.set(block([half.one, half.minusTwo], []), 80);
    const blocks = splitQuantizedBlocks('q2_k', bytes);
    expect(blocks.minElements).toBe(16);
    expect([...blocks.subScales!]).toEqual(range(16, (s) => s));
    expect([...blocks.mins!]).toEqual(range(16, (s) => 2 * (15 - s)));
    expect([...blocks.scales]).toEqual(repeat(1, 8));
  });

  it('q4_k: scales of 32 elements stand twice, and reach 63', () => {
    const bytes = new Uint8Array(144);
    bytes.set(
      block(
        [half.one, half.one],
        range(12, () => 0xff),
      ),
    );
    const blocks = splitQuantizedBlocks('q4_k', bytes);
    expect(blocks.minElements).toBe(32);
    expect([...blocks.subScales!]).toEqual(repeat(63, 16));
    expect([...blocks.mins!]).toEqual(repeat(-63, 8));
  });

  it.each([
    ['int4_g32', 1],
    ['int4_g128', 4],
  ] as const)('%s: subtracts the zero point, which may be 16', (dtype, numChunks) => {
    const codes = range(numChunks, () => nibbles).flat();
    const blocks = splitQuantizedBlocks(dtype, block([half.minusTwo, 16], codes));
    const chunk = [...range(16, (i) => i - 16), ...range(16, (i) => -1 - i)];
    expect([...blocks.codes]).toEqual(range(numChunks, () => chunk).flat());
    expect([...blocks.scales]).toEqual(repeat(-2, numChunks));
    expect([blocks.subScales, blocks.mins]).toEqual([null, null]);
  });

  it('reads blocks one after another, also from the middle of a buffer', () => {
    const first = block([half.one], nibbles);
    const second = block([half.minusTwo], repeat(0x88, 16));
    const bytes = new Uint8Array(3 + first.length + second.length);
    bytes.set(first, 3);
    bytes.set(second, 3 + first.length);
    const blocks = splitQuantizedBlocks('q4_0', bytes.subarray(3));
    expect([...blocks.scales]).toEqual([1, -2]);
    expect([...blocks.codes.subarray(0, 2)]).toEqual([-8, -7]);
    expect([...blocks.codes.subarray(32)]).toEqual(repeat(0, 32));
  });
});

describe('dequantizeBlocks', () => {
  it('multiplies exactly at both ends of the scale range', () => {
    const codes = repeat(127, 32);
    expect(values('q8_0', block([half.smallest], codes))[0]).toBe(127 * 2 ** -24);
    expect(values('q8_0', block([half.largest], codes))[0]).toBe(127 * 65504);
  });

  it('gives no −0, whatever the sign of the scale (the embed op adds +0)', () => {
    for (const scale of [half.one, half.minusTwo, half.minusZero]) {
      expect(Object.is(values('q8_0', block([scale], repeat(0, 32)))[0], 0)).toBe(true);
      expect(Object.is(values('q4_0', block([scale], repeat(0x88, 16)))[31], 0)).toBe(true);
    }
  });

  it('adds a minimum with one rounding', () => {
    const largest = values('q4_1', block([half.largest, half.smallest], repeat(0xff, 16)));
    expect(largest[0]).toBe(Math.fround(15 * 65504 + 2 ** -24));
    const cancelled = values('q4_1', block([half.one, half.minusTwo], repeat(0x22, 16)));
    expect(Object.is(cancelled[0], 0)).toBe(true);
  });

  it('rounds scale · sub-scale · code once', () => {
    const blocks = emptyQuantizedBlocks('q6_k', 256);
    // A scale of 24 bits, which no file has, shows where the rounding is.
    const scale = Math.fround(0.1);
    blocks.scales[0] = scale;
    blocks.subScales![0] = -127;
    blocks.codes[1] = -31;
    const exact = scale * 127 * 31;
    const twice = Math.fround(Math.fround(scale * 127) * 31);
    expect(dequantizeBlocks(blocks)[1]).toBe(Math.fround(exact));
    expect(Math.fround(exact)).not.toBe(twice);
  });
});

describe('dequantizeInto', () => {
  it('gives the same values from the middle', () => {
    const bytes = Uint8Array.from({ length: 2 * 84 }, (_, i) => (i * 89) & 63);
    const blocks = splitQuantizedBlocks('q2_k', bytes);
    const target = new Float32Array(100);
    dequantizeInto(blocks, 250, 70, target, 9);
    expect(target.subarray(9, 79)).toEqual(dequantizeBlocks(blocks).subarray(250, 320));
    expect([target[8], target[79]]).toEqual([0, 0]);
  });
});
