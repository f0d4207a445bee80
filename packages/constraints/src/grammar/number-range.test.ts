import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toRegExp } from '../__fixtures__/to-reg-exp.ts';
import { integerRange, numberRange } from './number-range.ts';

const decimals = fc
  .tuple(fc.integer({ min: -2_000_000, max: 2_000_000 }), fc.constantFrom(1, 10, 100, 1000, 1_000_000))
  .map(([units, scale]) => units / scale);
/** Text of a number near some decimal, with more digits than it needs. */
const texts = fc
  .tuple(decimals, fc.constantFrom('', '0', '00', '1', '5', '99'))
  .map(([value, more]) => (String(value).includes('.') && !String(value).includes('e') ? value + more : String(value)))
  .filter((text) => !text.includes('e'));

describe('integerRange', () => {
  it('holds every whole number between its bounds and no other, around zero and around more digits', () => {
    const bounds = [-101, -100, -12, -10, -9, -1, 0, 1, 9, 10, 11, 99, 100, 101];
    for (const least of bounds) {
      for (const most of bounds) {
        const range = toRegExp(integerRange(BigInt(least), BigInt(most)));
        const values = Array.from({ length: 241 }, (_, index) => index - 120);
        expect(values.filter((value) => range.test(String(value)))).toEqual(
          values.filter((value) => value >= least && value <= most),
        );
      }
    }
  });

  it('holds large numbers, and half-open ranges', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (bound, value) => {
        expect(toRegExp(integerRange(BigInt(bound), undefined)).test(String(value))).toBe(value >= bound);
        expect(toRegExp(integerRange(undefined, BigInt(bound))).test(String(value))).toBe(value <= bound);
      }),
    );
  });

  it('writes no zeros in front and no minus before zero', () => {
    const range = toRegExp(integerRange(-5n, 20n));
    expect(['007', '-0', '+1', '1.0', ''].filter((text) => range.test(text))).toEqual([]);
  });
});

describe('numberRange', () => {
  it('holds exactly the numbers between inclusive bounds', () => {
    fc.assert(
      fc.property(decimals, decimals, texts, (one, other, text) => {
        const [least, most] = [Math.min(one, other), Math.max(one, other)];
        const range = toRegExp(numberRange({ value: least, isExclusive: false }, { value: most, isExclusive: false }));
        expect(range.test(text)).toBe(Number(text) >= least && Number(text) <= most);
        expect(range.test(String(least))).toBe(!String(least).includes('e'));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves exclusive bounds out, in any spelling', () => {
    fc.assert(
      fc.property(decimals, texts, (bound, text) => {
        const above = toRegExp(numberRange({ value: bound, isExclusive: true }, undefined));
        const below = toRegExp(numberRange(undefined, { value: bound, isExclusive: true }));
        expect(above.test(text)).toBe(Number(text) > bound);
        expect(below.test(text)).toBe(Number(text) < bound);
        for (const spelling of [String(bound), `${bound}.0`, `${bound}00`]) {
          if (Number(spelling) === bound) expect([above.test(spelling), below.test(spelling)]).toEqual([false, false]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('holds no text that is rounded up to an exclusive bound', () => {
    const below1 = toRegExp(numberRange({ value: 0, isExclusive: true }, { value: 1, isExclusive: true }));
    expect(below1.test('0.99999999999999')).toBe(true);
    expect(Number('0.99999999999999999999')).toBe(1);
    expect(below1.test('0.99999999999999999999')).toBe(false);
    expect(below1.test('0.00000000000000')).toBe(false);
    expect(below1.test('0.00000000000001')).toBe(true);
  });
});
