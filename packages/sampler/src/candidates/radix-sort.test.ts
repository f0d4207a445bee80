import '../__fixtures__/fixed-seed.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { radixSort } from './radix-sort.ts';

describe('radixSort', () => {
  it('sorts as a stable comparison sort does, and leaves the rest alone', () => {
    // Few distinct keys make ties; shared bytes exercise the skipped passes; full words the others.
    const key = fc.oneof(fc.nat(3), fc.constantFrom(0x01000000, 0x02000000, 0xffffffff), fc.nat(0xffffffff));
    fc.assert(
      fc.property(fc.array(key, { maxLength: 200 }), fc.nat(3), (all, untouched) => {
        const length = Math.max(0, all.length - untouched);
        const keys = Uint32Array.from(all);
        const values = Uint32Array.from(all.keys());
        radixSort(keys, values, length);
        const head = all.slice(0, length).map((k, i) => [k, i] as const);
        const expected = [...head.sort((a, b) => a[0] - b[0]), ...all.map((k, i) => [k, i] as const).slice(length)];
        expect([...keys]).toEqual(expected.map(([k]) => k));
        expect([...values]).toEqual(expected.map(([, i]) => i));
      }),
    );
  });
});
