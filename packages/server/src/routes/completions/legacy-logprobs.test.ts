import { describe, expect, it } from 'vitest';
import { LegacyLogprobs } from './legacy-logprobs.ts';

const token = (text: string, logprob: number, top: readonly [number[], number][] = []) => ({
  text,
  bytes: [...Buffer.from(text)],
  logprob,
  top: top.map(([bytes, logprob]) => ({ text: Buffer.from(bytes).toString(), bytes, logprob })),
});

describe('the old form of log-probabilities', () => {
  it('counts places in characters, over several parts of a text', () => {
    const logprobs = new LegacyLogprobs();
    expect(logprobs.write([token('a', -1), token('😀', -2), token('', -3)]).text_offset).toEqual([0, 1, 2]);
    expect(logprobs.write([token('éb', -1), token('c', -1)]).text_offset).toEqual([2, 4]);
  });

  it('has one entry for tokens of the same text, the better', () => {
    const { top_logprobs } = new LegacyLogprobs().write([
      token('a', -3, [
        [[98], -1],
        [[98], -2],
        [[97], -3],
      ]),
    ]);
    expect(top_logprobs).toEqual([{ a: -3, b: -1 }]);
  });

  it('tells bytes that are no whole character apart, and calls the token that came as the text does', () => {
    const half = {
      text: '',
      bytes: [0xf0],
      logprob: -1,
      top: token('', 0, [
        [[0xf0], -1],
        [[0x9f], -2],
      ]).top,
    };
    expect(new LegacyLogprobs().write([half]).top_logprobs).toEqual([{ '': -1, 'bytes:\\x9f': -2 }]);
  });

  it('has no infinity, which JSON has no word for, and any text as a key', () => {
    const never = token('__proto__', Number.NEGATIVE_INFINITY);
    const { token_logprobs, top_logprobs } = new LegacyLogprobs().write([never]);
    expect(token_logprobs).toEqual([-9999]);
    expect(JSON.stringify(top_logprobs)).toBe('[{"__proto__":-9999}]');
  });
});
