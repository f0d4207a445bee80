import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopMatcher } from './stop-matcher.ts';

/** Pushes the pieces and reports what was shown, piece by piece. */
function run(stops: string[], pieces: string[]) {
  const matcher = new StopMatcher(stops);
  const shown: string[] = [];
  for (const piece of pieces) {
    const result = matcher.push(piece);
    if (typeof result !== 'string') {
      shown.push(result.text);
      return { shown, text: shown.join(''), stop: result.stopSequence };
    }
    shown.push(result);
  }
  shown.push(matcher.flush());
  return { shown, text: shown.join(''), stop: undefined };
}

/** The same, straight from the definition: the text one character longer at a time. */
function slowly(stops: string[], text: string) {
  for (let end = 0; end <= text.length; end++) {
    const ending = stops.filter((stop) => text.slice(0, end).endsWith(stop)).sort((a, b) => b.length - a.length)[0];
    if (ending !== undefined) return { text: text.slice(0, end - ending.length), stop: ending };
  }
  return { text, stop: undefined };
}

describe('StopMatcher', () => {
  it('finds a stop string that spans pieces and shows nothing of it', () => {
    expect(run(['c😀d'], ['a', 'b', 'c', '😀', 'd', 'é'])).toEqual({
      shown: ['a', 'b', '', '', ''],
      text: 'ab',
      stop: 'c😀d',
    });
  });

  it('shows what it held back as soon as it cannot be a stop string any more', () => {
    expect(run(['c😀X'], ['a', 'b', 'c', '😀', 'd']).shown).toEqual(['a', 'b', '', '', 'c😀d', '']);
  });

  it('shows what it held back when the text ends', () => {
    expect(run(['END'], ['the E', 'N']).shown).toEqual(['the ', '', 'EN']);
  });

  it('takes the stop string that is completed first', () => {
    expect(run(['.\nabX', '\nab'], ['a.', '\n', 'a', 'b', 'c'])).toMatchObject({ text: 'a.', stop: '\nab' });
    expect(run(['abc', 'b'], ['abc'])).toMatchObject({ text: 'a', stop: 'b' });
  });

  it('takes the longest of those that end at the same place', () => {
    expect(run(['c', 'bc', 'abc'], ['xabc'])).toMatchObject({ text: 'x', stop: 'abc' });
  });

  it('holds back a beginning that starts again inside itself', () => {
    expect(run(['aab'], ['a', 'a', 'a', 'b'])).toMatchObject({ text: 'a', stop: 'aab' });
  });

  it('matches in the first piece', () => {
    expect(run(['😀'], ['😀 and more'])).toEqual({ shown: [''], text: '', stop: '😀' });
  });

  it('passes everything on without stop strings', () => {
    expect(run([], ['a', '', 'b']).shown).toEqual(['a', '', 'b', '']);
  });

  it.each([[''], ['ok', ''], ['\ud83d'], ['a\ude00'], [7 as unknown as string]])('refuses %j', (...stops) => {
    expect(() => new StopMatcher(stops)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });

  it('gives the same text however it is cut, and never half a surrogate pair', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '😀', '😁'), maxLength: 12 });
    const stop = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), fc.array(stop, { maxLength: 3 }), (pieces, stops) => {
        const streamed = run(stops, pieces);
        expect({ text: streamed.text, stop: streamed.stop }).toEqual(slowly([...new Set(stops)], pieces.join('')));
        for (const shown of streamed.shown) expect(shown).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });
});
