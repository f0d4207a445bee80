import '../__fixtures__/fixed-seed.ts';
import { InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noContext } from '../__fixtures__/rows.ts';
import { createTokenMask, tokenMask } from './token-mask.ts';

describe('tokenMask', () => {
  it('bans exactly the tokens that are not in the mask, for every vocabulary size around the word size', () => {
    const vocabSizes = fc.constantFrom(1, 2, 31, 32, 33, 63, 64, 65, 127, 129);
    fc.assert(
      fc.property(vocabSizes, fc.array(fc.nat(128)), fc.boolean(), (vocabSize, ids, signed) => {
        const allowed = new Set(ids.filter((id) => id < vocabSize));
        const bits = createTokenMask(vocabSize, allowed);
        const row = new Float32Array(vocabSize).fill(1);
        tokenMask.process(row, { ...noContext, mask: signed ? new Int32Array(bits.buffer) : bits });
        expect([...row]).toEqual([...row.keys()].map((id) => (allowed.has(id) ? 1 : Number.NEGATIVE_INFINITY)));
      }),
    );
  });

  it('ignores bits and words past the vocabulary', () => {
    const row = Float32Array.of(1, 2, 3);
    tokenMask.process(row, { ...noContext, mask: Uint32Array.of(0xfffffffa, 0xffffffff) });
    expect([...row]).toEqual([Number.NEGATIVE_INFINITY, 2, Number.NEGATIVE_INFINITY]);
  });

  it('refuses a mask of the wrong kind or length', () => {
    const row = new Float32Array(33);
    const apply = (mask: unknown) => tokenMask.process(row, { ...noContext, mask: mask as Uint32Array });
    expect(() => apply(Uint32Array.of(1))).toThrow(
      'mask must be a Uint32Array or Int32Array of at least 2 words for 33 tokens, but got 1 words.',
    );
    expect(() => apply([true])).toThrow(InvalidArgumentError);
    expect(() => apply(new Uint8Array(5))).toThrow(InvalidArgumentError);
  });
});

describe('createTokenMask', () => {
  it('refuses ids outside the vocabulary', () => {
    for (const bad of [-1, 8, 1.5, Number.NaN]) {
      expect(() => createTokenMask(8, [1, bad])).toThrow(InvalidArgumentError);
    }
  });
});
