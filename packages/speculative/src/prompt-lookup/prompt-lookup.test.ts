import { DisposedError, InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptLookup } from './prompt-lookup.ts';

/** The definition, by trying everything. */
function naiveLookup(tokenIds: readonly number[], minNgram: number, maxNgram: number, maxTokens: number): number[] {
  const isEqual = (endA: number, endB: number, n: number) =>
    tokenIds.slice(endA - n, endA).join() === tokenIds.slice(endB - n, endB).join();
  for (let n = maxNgram; n >= minNgram; n--) {
    for (let end = tokenIds.length - 1; end >= n; end--) {
      if (!isEqual(end, tokenIds.length, n)) continue;
      const text = tokenIds.slice();
      for (let i = 0; i < maxTokens; i++) text.push(text[end + i]!);
      return text.slice(tokenIds.length);
    }
  }
  return [];
}

describe('prompt lookup', () => {
  it('equals its definition on texts that grow', () => {
    const text = fc
      .integer({ min: 1, max: 6 })
      .chain((numDifferent) => fc.array(fc.nat(numDifferent - 1), { maxLength: 300 }));
    const lengths = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.nat(4));
    fc.assert(
      fc.property(
        text,
        lengths,
        fc.array(fc.integer({ min: 0, max: 40 })),
        fc.nat(12),
        (tokenIds, [minNgram, more], pieces, maxTokens) => {
          const maxNgram = minNgram + more;
          const lookup = promptLookup({ minNgram, maxNgram }).start();
          let length = 0;
          for (const piece of [...pieces, tokenIds.length]) {
            length = Math.min(length + piece, tokenIds.length);
            const soFar = tokenIds.slice(0, length);
            expect(lookup.propose(soFar, maxTokens)).toEqual(naiveLookup(soFar, minNgram, maxNgram, maxTokens));
          }
        },
      ),
    );
  });

  it('equals its definition on a long text with ids of all sizes', () => {
    // Ids that differ in their high bits only, which a weak hash would put into the same slot.
    const ids = [0, 1, 2 ** 31 - 1, ...Array.from({ length: 28 }, (_, i) => 2 ** (i + 2))];
    let state = 1;
    const tokenIds = Array.from({ length: 3000 }, () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return ids[(state >>> 16) % ids.length]!;
    });
    const lookup = promptLookup().start();
    let numFound = 0;
    for (let length = 2800; length <= 3000; length++) {
      const soFar = tokenIds.slice(0, length);
      const guesses = lookup.propose(soFar, 3) as number[];
      expect(guesses).toEqual(naiveLookup(soFar, 2, 4, 3));
      if (guesses.length > 0) numFound++;
    }
    expect(numFound).toBeGreaterThan(100);
  });

  it('prefers a longer match to a later one, and a later one to an earlier one', () => {
    const propose = (tokenIds: number[]) => promptLookup().start().propose(tokenIds, 1);
    expect(propose([1, 2, 3, 10, 2, 3, 11, 1, 2, 3])).toEqual([10]);
    expect(propose([1, 2, 3, 10, 1, 2, 3, 11, 1, 2, 3])).toEqual([11]);
    expect(propose([3, 10, 3])).toEqual([]);
  });

  it('goes on with its own guesses where the copy reaches the end', () => {
    expect(promptLookup().start().propose([7, 7, 7], 5)).toEqual([7, 7, 7, 7, 7]);
    expect(promptLookup().start().propose([1, 2, 3, 1, 2], 7)).toEqual([3, 1, 2, 3, 1, 2, 3]);
  });

  it('has no guesses for texts shorter than an n-gram, nor when none are wanted', () => {
    const lookup = promptLookup().start();
    expect(lookup.propose([], 4)).toEqual([]);
    expect(lookup.propose([5], 4)).toEqual([]);
    expect(lookup.propose([5, 5, 5], 0)).toEqual([]);
    expect(lookup.propose([5, 5, 5], 2)).toEqual([5, 5]);
  });

  it('gives each sequence an index of its own', () => {
    const proposer = promptLookup();
    const [a, b] = [proposer.start(), proposer.start()];
    expect(a.propose([1, 2, 3, 1, 2], 1)).toEqual([3]);
    expect(b.propose([1, 2, 4, 1, 2], 1)).toEqual([4]);
    expect(a.propose([1, 2, 3, 1, 2, 5, 1, 2], 1)).toEqual([5]);
  });

  it('refuses a text that became shorter, and work after it was disposed', async () => {
    const lookup = promptLookup().start();
    lookup.propose([1, 2, 3], 1);
    expect(() => lookup.propose([1, 2], 1)).toThrow(InvalidArgumentError);
    await lookup.dispose();
    await lookup.dispose();
    expect(() => lookup.propose([1, 2, 3], 1)).toThrow(DisposedError);
  });

  it('checks its options', () => {
    for (const options of [
      { minNgram: 0 },
      { maxNgram: 17 },
      { minNgram: 5 },
      { minNgram: 1.5 },
      { maxNgram: Number.NaN },
      { minNgram: '2' as unknown as number },
    ]) {
      expect(() => promptLookup(options), JSON.stringify(options)).toThrow(InvalidArgumentError);
    }
    expect(promptLookup({ maxNgram: 1 }).start().propose([5, 6, 5], 1)).toEqual([6]);
  });
});
