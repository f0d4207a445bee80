import { describe, expect, it } from 'vitest';
import { tanh32 } from './tanh32.ts';

/** Distance to Math.tanh in units in the last place of the f32 nearest to it. */
function ulps(x: number): number {
  const exact = Math.tanh(x);
  const ulp = 2 ** (Math.floor(Math.log2(Math.abs(exact))) - 23);
  return Math.abs(tanh32(x) - exact) / ulp;
}

describe('tanh32', () => {
  it('gives +0 for zero of either sign, saturates at ±1, and keeps NaN', () => {
    expect(Object.is(tanh32(0), 0)).toBe(true);
    expect(Object.is(tanh32(-0), 0)).toBe(true);
    for (const large of [10, 44, 45, 88, 3e38, Number.POSITIVE_INFINITY]) {
      expect(tanh32(large)).toBe(1);
      expect(tanh32(-large)).toBe(-1);
    }
    expect(tanh32(Number.NaN)).toBeNaN();
  });

  it('is odd, and within 1.5 units in the last place everywhere', () => {
    let worst = 0;
    for (let exponent = -30; exponent < 4; exponent++) {
      for (let step = 0; step < 2000; step++) {
        const x = Math.fround(2 ** exponent * (1 + step / 2000));
        worst = Math.max(worst, ulps(x));
        expect(tanh32(-x)).toBe(-tanh32(x));
      }
    }
    expect(worst).toBeLessThan(1.5);
  });
});
