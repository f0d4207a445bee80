import { describe, expect, it } from 'vitest';
import { ByteDetokenizer, bytesOf, fakeTokens } from '../test/byte-codec.ts';
import { Completion } from './completion.ts';

function complete(tokenIds: number[], options: { stop?: string[]; maxTokens?: number } = {}) {
  const completion = new Completion({
    detokenizer: new ByteDetokenizer(),
    stop: options.stop ?? [],
    stopTokenIds: new Set([fakeTokens.eos]),
    maxTokens: options.maxTokens ?? 100,
  });
  const shown: string[] = [];
  for (const tokenId of tokenIds) {
    if (completion.end) break;
    shown.push(completion.push(tokenId));
  }
  expect(shown.join('')).toBe(completion.text);
  return { shown, text: completion.text, end: completion.end, numTokens: completion.tokenIds.length };
}

describe('Completion', () => {
  it('shows characters when they are whole', () => {
    expect(complete(bytesOf('a😀é')).shown).toEqual(['a', '', '', '', '😀', '', 'é']);
  });

  it('ends at the end token, which has no text, and releases what was held back', () => {
    expect(complete([...bytesOf('the E'), fakeTokens.eos, 65], { stop: ['END'] })).toEqual({
      shown: ['t', 'h', 'e', ' ', '', 'E'],
      text: 'the E',
      end: { finishReason: 'stop', stopTokenId: fakeTokens.eos },
      numTokens: 6,
    });
  });

  it('ends at a stop string, which is not shown', () => {
    expect(complete(bytesOf('abc😀d'), { stop: ['c😀d'] })).toMatchObject({
      text: 'ab',
      end: { finishReason: 'stop', stopSequence: 'c😀d' },
      numTokens: 8,
    });
  });

  it('prefers the stop string when the last token completes it', () => {
    expect(complete(bytesOf('ab'), { stop: ['ab'], maxTokens: 2 }).end).toEqual({
      finishReason: 'stop',
      stopSequence: 'ab',
    });
  });

  it('ends at the limit and releases what was held back, but shows no half character as if it were one', () => {
    expect(complete(bytesOf('a😀'), { maxTokens: 3 })).toMatchObject({
      shown: ['a', '', '\ufffd'],
      end: { finishReason: 'length' },
    });
  });

  it('is over from the start with a limit of 0', () => {
    expect(complete([65], { maxTokens: 0 })).toEqual({
      shown: [],
      text: '',
      end: { finishReason: 'length' },
      numTokens: 0,
    });
  });

  it('has no text for ids without a token', () => {
    expect(complete([97, 260, 98], { maxTokens: 3 })).toMatchObject({ text: 'ab', numTokens: 3 });
  });
});
