import { describe, expect, it } from 'vitest';
import { seededRandom } from '../__fixtures__/random.ts';
import { sinCos32 } from './sin-cos.ts';

describe('sinCos32', () => {
  it('is the rounded sin and cos of every kind of angle', () => {
    const random = seededRandom(1);
    // Small ones, whole positions, and those up to the largest context.
    const angles = [
      0,
      1e-30,
      1e-4,
      0.785398185253143,
      0.785398125648498,
      1.57079637050628,
      3.1415927410125732,
      1048576,
      ...Array.from({ length: 2000 }, (_, i) => i),
      ...Array.from({ length: 20000 }, () => random() * 2 ** (random() * 40 - 20)),
    ].map(Math.fround);
    let worst = 0;
    for (const angle of angles) {
      const { sin, cos } = sinCos32(angle);
      // Math.sin and Math.cos of V8 are fdlibm with full argument reduction, off by less than 2^-52. Both routines round
      // a value that close to the exact one, so they differ at most where it falls near a halfway point: by one step.
      for (const [got, exact] of [
        [sin, Math.sin(angle)],
        [cos, Math.cos(angle)],
      ] as const) {
        const step = 2 ** (Math.floor(Math.log2(Math.abs(exact) || 1)) - 23);
        worst = Math.max(worst, Math.abs(got - exact) / step);
      }
    }
    // Half a step, plus what reduction loses at angles up to 2^20: about 2^-53 · 2^20 / (steps of values near zero).
    expect(worst).toBeLessThanOrEqual(0.5 + 1e-6);
  });

  it('is exact at 0', () => {
    expect(sinCos32(0)).toEqual({ sin: 0, cos: 1 });
  });

  it('takes the four quarters with their signs', () => {
    for (const [angle, signs] of [
      [0.3, [1, 1]],
      [2, [1, -1]],
      [4, [-1, -1]],
      [5.5, [-1, 1]],
    ] as const) {
      const { sin, cos } = sinCos32(angle);
      expect([Math.sign(sin), Math.sign(cos)]).toEqual(signs);
    }
  });
});
