import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toRegExp } from '../__fixtures__/to-reg-exp.ts';
import { otherKeys } from './other-keys.ts';
import type { SchemaContext } from './translate-schema.ts';

const inPlace: SchemaContext = {
  define: (_, expression) => expression,
  valuesOf: () => {
    throw new Error('Keys have no schema.');
  },
};

describe('otherKeys', () => {
  it('holds every key but the given ones', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', '😀'), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), letters, (names, key) => {
        const keys = toRegExp(otherKeys(names, inPlace));
        if (names.includes(key)) expect(keys.test(JSON.stringify(key))).toBe(false);
        else if (/^\p{ASCII}*$/u.test(names.join(''))) expect(keys.test(JSON.stringify(key))).toBe(true);
        for (const name of names) expect(keys.test(JSON.stringify(name))).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('has one spelling for each key, so that none comes back in another', () => {
    const keys = toRegExp(otherKeys(['a', '\n'], inPlace));
    expect(keys.test('"\\u0061"')).toBe(false);
    expect(keys.test('"\\u000a"')).toBe(false);
    expect(keys.test('"\\u0001"')).toBe(true);
  });

  it('holds other characters beyond ASCII except where one begins a name', () => {
    const keys = toRegExp(otherKeys(['é'], inPlace));
    expect(['"aä"', '"ab"', '"éa"', '"ä"', '"é"'].map((key) => keys.test(key))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('refuses names that would need too many rules', () => {
    expect(() => otherKeys(['a'.repeat(501)], inPlace)).toThrow(/501 characters/);
  });
});
