import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonError } from './find-json-error.ts';

describe('findJsonError', () => {
  it.each([
    ['', 0, 'ends too early'],
    ['{"a": [1, 2', 11, 'ends too early'],
    ['{"a": "x', 8, 'ends too early'],
    ['{"a" 1}', 5, '":" is expected'],
    ['{a: 1}', 1, 'a key in quotes'],
    ['{"a": 1,}', 8, 'a key in quotes'],
    ['[1 2]', 3, '"," or "]"'],
    ['{"a": 1 "b": 2}', 8, '"," or "}"'],
    ['[1,]', 3, 'a value is expected'],
    ['[undefined]', 1, 'a value is expected'],
    ['[01]', 2, '"," or "]"'],
    ['"a\nb"', 2, 'a string holds'],
    ['["\\x"]', 2, 'a string holds'],
    ['{"a": {}}}', 9, 'follows after the end'],
    ['[[[[', 4, 'ends too early'],
  ])('%s', (text, position, reason) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(findJsonError(text)).toEqual({ position, reason: expect.stringContaining(reason) });
  });

  it('finds the end of any text that is cut off', () => {
    const cut = fc.json().chain((text) => fc.tuple(fc.constant(text), fc.nat(text.length)));
    fc.assert(
      fc.property(cut, ([text, length]) => {
        const part = `[${text.slice(0, length)}`;
        // All but a cut within a number or a word end exactly at the cut.
        expect(findJsonError(part).position).toBeGreaterThanOrEqual(part.search(/[\w.+-]*$/));
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  it('walks 100,000 brackets and a long string without recursion', () => {
    expect(findJsonError('['.repeat(100_000)).position).toBe(100_000);
    expect(findJsonError(`"${'x'.repeat(5_000_000)}`).position).toBe(5_000_001);
  });
});
