import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trickyArguments } from '../__fixtures__/outputs.ts';
import { JsonScanner, type ScanState } from './json-scanner.ts';

/** State after the last unit that may be pushed, and where that was. */
function scan(text: string): { state: ScanState; length: number } {
  const scanner = new JsonScanner();
  let state: ScanState = 'open';
  let length = 0;
  while (state === 'open' && length < text.length) state = scanner.push(text[length++] as string);
  return { state, length };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('JsonScanner', () => {
  it('finds the end of a value at its last unit, whatever follows', () => {
    fc.assert(
      fc.property(trickyArguments, fc.constantFrom(undefined, 1, 2, '\t'), fc.string(), (value, indent, rest) => {
        const text = JSON.stringify(value, null, indent);
        expect(scan(text + rest)).toEqual({ state: 'whole', length: text.length });
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it('takes what JSON.parse takes and nothing else', () => {
    const unit = fc.constantFrom(...'{}[]",:\\ \n0123.-+eEtrufalsn/bx\u0000😀'.split(''));
    let numWrong = 0;
    fc.assert(
      fc.property(trickyArguments, fc.array(fc.tuple(fc.nat(), unit), { maxLength: 2 }), (value, changes) => {
        let text = JSON.stringify(value);
        for (const [place, put] of changes) {
          const at = place % text.length;
          text = text.slice(0, at) + put + text.slice(at + (place % 2));
        }
        text = text.trim();
        fc.pre(/^["{[]/.test(text));
        const { state, length } = scan(text);
        if (!isJson(text)) numWrong++;
        expect(state === 'whole' && length === text.length).toBe(isJson(text));
      }),
      { seed: 2, numRuns: 1000 },
    );
    expect(numWrong).toBeGreaterThan(100);
  });

  it('takes escapes of four digits', () => {
    for (const text of ['"\\u00e9"', '"\\uD83D\\ude00x"'])
      expect(scan(text)).toEqual({ state: 'whole', length: text.length });
  });

  it.each<[text: string, length: number]>([
    ['{"a": tru}', 10],
    ['{"a": 01}', 9],
    ['[1,]', 4],
    ['{"a" 1}', 6],
    ['"\\x"', 3],
    ['"\\u12g4"', 6],
    ['"\\u123"', 7],
    ['"\n', 2],
    ['[}', 2],
    ['{,', 2],
    ['1', 1],
    [']', 1],
    ['x', 1],
  ])('breaks at the first unit that cannot stand there: %j', (text, length) => {
    expect(scan(text)).toEqual({ state: 'broken', length });
  });
});
