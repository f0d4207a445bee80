import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EncoderTables } from '../compile/compiled-tokenizer.ts';
import { BytePairEncoder } from './byte-pair-encoder.ts';
import { IdList } from './id-list.ts';
import { MergeTable } from './merge-table.ts';

const noTables = {
  fallbackIds: undefined,
  words: undefined,
  unknownId: undefined,
  fuseUnknown: false,
  addedTokens: [],
  normalizer: [],
  bosTokenId: undefined,
  addBos: false,
};

function encode(tables: EncoderTables, word: string): number[] {
  const out = new IdList();
  new BytePairEncoder(tables).encode(word, out);
  return [...out.slice()];
}

/** The definition, word for word and in quadratic time: merge the leftmost pair of the lowest rank until there is none. */
function bySearch(merges: readonly number[][], symbols: readonly number[]): number[] {
  const ids = [...symbols];
  for (;;) {
    let best = { rank: merges.length, at: -1 };
    for (let at = 0; at + 1 < ids.length; at++) {
      const rank = merges.findIndex(([left, right]) => left === ids[at] && right === ids[at + 1]);
      if (rank >= 0 && rank < best.rank) best = { rank, at };
    }
    if (best.at < 0) return ids;
    ids.splice(best.at, 2, merges[best.rank]![2]!);
  }
}

describe('BytePairEncoder', () => {
  it('merges as the definition says, for any merges and any word', () => {
    // Ids 0 to 3 are the letters a to d; merge number i makes id 4 + i out of two ids that exist by then.
    const merges = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }).map((pairs) => {
      const seen = new Set<string>();
      const list: number[][] = [];
      for (const [left, right] of pairs) {
        const pair = [left % (4 + list.length), right % (4 + list.length)];
        if (seen.has(String(pair))) continue;
        seen.add(String(pair));
        list.push([...pair, 4 + list.length]);
      }
      return list;
    });
    const word = fc.array(fc.nat(3), { maxLength: 200 });
    fc.assert(
      fc.property(merges, word, (merges, symbols) => {
        const tables: EncoderTables = {
          ...noTables,
          symbols: Int32Array.from([97, 0, 98, 1, 99, 2, 100, 3]),
          merges: Int32Array.from(merges.flat()),
          preTokenizer: [],
        };
        const text = symbols.map((symbol) => 'abcd'[symbol]).join('');
        expect(encode(tables, text)).toEqual(bySearch(merges, symbols));
      }),
      { seed: 11, numRuns: 400 },
    );
  });

  const letters = Int32Array.from([97, 0]);
  const unknown = { ...noTables, symbols: letters, merges: new Int32Array(), preTokenizer: [], unknownId: 9 };

  it('gives one unknown id for each unknown character, or one for a run', () => {
    expect(encode(unknown, 'axyzax')).toEqual([0, 9, 9, 9, 0, 9]);
    expect(encode({ ...unknown, fuseUnknown: true }, 'axyzax')).toEqual([0, 9, 0, 9]);
    expect(encode({ ...unknown, unknownId: undefined }, 'axyzax')).toEqual([0, 0]);
  });

  it('falls back to bytes if the vocabulary has all of them', () => {
    const fallbackIds = new Int32Array(256).fill(-1);
    fallbackIds[0xc3] = 20;
    fallbackIds[0xa9] = 21;
    expect(encode({ ...unknown, fallbackIds }, 'aé')).toEqual([0, 20, 21]);
    expect(encode({ ...unknown, fallbackIds }, 'aè')).toEqual([0, 9]); // 0xA8 is missing
  });

  it('gives the same for a word from its cache, also when the cache starts over', () => {
    const encoder = new BytePairEncoder(unknown);
    const out = new IdList();
    for (let turn = 0; turn < 2; turn++) {
      for (let index = 0; index < 25_000; index++) encoder.encode(`a${index}`, out);
    }
    const ids = out.slice();
    expect([...ids.subarray(0, ids.length / 2)]).toEqual([...ids.subarray(ids.length / 2)]);
  });
});

describe('MergeTable', () => {
  it('finds each pair and no other, and the last of equal ones', () => {
    const triples: number[] = [];
    for (let left = 0; left < 60; left++)
      for (let right = 0; right < 60; right++) triples.push(left, right, left * 1000 + right);
    triples.push(5, 5, 77);
    const table = new MergeTable(Int32Array.from(triples));
    expect(table.mergedId(table.rankOf(5, 5))).toBe(77);
    for (let left = 0; left < 65; left++) {
      for (let right = 0; right < 65; right++) {
        const rank = table.rankOf(left, right);
        if (left >= 60 || right >= 60) expect(rank).toBe(-1);
        else if (left !== 5 || right !== 5) expect(table.mergedId(rank)).toBe(left * 1000 + right);
      }
    }
    expect(new MergeTable(new Int32Array()).rankOf(0, 0)).toBe(-1);
  });
});
