import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { eosTokenIds } from './eos-token-ids.ts';

const ends = (eos_token_id: unknown) =>
  [...eosTokenIds({ config: [2], tokenizer: [7], generationConfig: { eos_token_id } }, 10)].sort();

describe('eosTokenIds', () => {
  it('takes the ends that any file names, without those past the vocabulary', () => {
    expect(ends(5)).toEqual([2, 5, 7]);
    expect(ends([5, 2, 99])).toEqual([2, 5, 7]);
    for (const none of [undefined, null, []]) expect(ends(none)).toEqual([2, 7]);
    expect([...eosTokenIds({ config: [], tokenizer: [], generationConfig: undefined }, 10)]).toEqual([]);
  });

  it.each([[['</s>']], [2.5], [-1], ['2'], [{}], [true]])('refuses %j by name', (value) => {
    expect(() => ends(value)).toThrow(InvalidModelError);
    expect(() => ends(value)).toThrow(/eos_token_id in generation_config.json must be a token id/);
  });
});
