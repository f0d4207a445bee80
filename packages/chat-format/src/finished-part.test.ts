import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finishedPart } from './finished-part.ts';

describe('the finished part of a draft', () => {
  it.each([
    ['', ''],
    ['Hel', ''],
    ['Hello', ''],
    ['Hello ', 'Hello'],
    ['Hello wor', 'Hello'],
    ['Hello  \n\n wor', 'Hello'],
    ['Hello world \n', 'Hello world'],
    ['  ', ''],
    ['see https://example.com/a?b', 'see'],
    ['今日は良い天気', '今日は良い'],
    ['It is 天気', 'It is'],
  ])('of %j is %j', (draft, finished) => {
    expect(finishedPart(draft)).toBe(finished);
  });

  it('is a beginning of the draft, without white space at its end, and looks at a long word for no time', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', ' ', '\n', '天', '気', '😀', '\u00a0') }), (draft) => {
        const finished = finishedPart(draft);
        expect(draft.startsWith(finished)).toBe(true);
        expect(finished).toBe(finished.trimEnd());
      }),
    );
    expect(finishedPart(`go ${'x'.repeat(1_000_000)}`)).toBe('go');
    expect(finishedPart('天気'.repeat(500_000)).length).toBeGreaterThan(999_900);
  });
});
