import '../__fixtures__/fixed-seed.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { philox4x32 } from './philox.ts';
import { uniformDraw } from './uniform-draw.ts';

describe('uniformDraw', () => {
  it('puts seed, choice and position into key and counter as documented', () => {
    const seed = 0x0123456789abcdefn;
    const [word] = philox4x32([7, 0, 3, 0], [0x89abcdef, 0x01234567]);
    expect(uniformDraw(seed, 3, 7)).toBe(Math.floor(word / 256) / 2 ** 24);
  });

  it('is an f32 of 24 bits in [0, 1)', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.nat(), fc.nat(), (seed, choiceIndex, position) => {
        const u = uniformDraw(seed, choiceIndex, position);
        expect(u).toBeGreaterThanOrEqual(0);
        expect(u).toBeLessThan(1);
        expect(Number.isInteger(u * 2 ** 24)).toBe(true);
      }),
    );
  });

  it('uses all 64 bits of the seed and all of choice and position', () => {
    const draws = [
      uniformDraw(1n, 0, 0),
      uniformDraw(1n + 2n ** 32n, 0, 0),
      uniformDraw(1n + 2n ** 63n, 0, 0),
      uniformDraw(2n, 0, 0),
      uniformDraw(1n, 1, 0),
      uniformDraw(1n, 2 ** 32 - 1, 0),
      uniformDraw(1n, 0, 1),
      uniformDraw(1n, 0, 2 ** 32),
    ];
    expect(new Set(draws).size).toBe(draws.length);
  });

  it('is even over the unit interval', () => {
    // Chi-square over 16 cells of 1,000 expected draws each: 15 degrees of freedom, so 37.7 is passed by chance once in
    // a thousand seeds. The seed is fixed; the test cannot flicker.
    const cells = new Array<number>(16).fill(0);
    for (let position = 0; position < 16_000; position++) cells[Math.floor(uniformDraw(42n, 0, position) * 16)]!++;
    const chiSquare = cells.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    expect(chiSquare).toBeLessThan(37.7);
  });
});
