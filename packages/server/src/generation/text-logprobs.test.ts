import type { GenerateOptions, Model } from '@hearth/engine';
import { bytesOf, createFakeModel, fakeTokens, hashScript, replyScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { type TextLogprob, TextLogprobs, textLogprobs } from './text-logprobs.ts';

const models: Model[] = [];

afterEach(async () => {
  for (const model of models.splice(0)) await model.dispose();
});

async function run(next: Parameters<typeof createFakeModel>[0]['next'], options: GenerateOptions, prompt = [1]) {
  const { model } = await createFakeModel({ next });
  models.push(model);
  const generation = model.createSession({ tokenIds: prompt }).generate({ temperature: 0, logprobs: 1, ...options });
  const collector = new TextLogprobs(model.tokenizer);
  const streamed: TextLogprob[] = [];
  let shown = '';
  for await (const delta of generation) {
    streamed.push(...collector.push(delta));
    shown += delta.text;
    // Nothing is said of text that is not out.
    expect(shown.startsWith(joined(streamed))).toBe(true);
  }
  const result = await generation.result;
  streamed.push(...collector.finish(result));
  expect(textLogprobs(model.tokenizer, result)).toEqual(streamed);
  return { tokens: streamed, result };
}

const joined = (tokens: readonly TextLogprob[]) => tokens.map(({ text }) => text).join('');
const reply = (text: string, end: number = fakeTokens.eos) => replyScript(1, text, end);

describe('the tokens of a text', () => {
  it('are those of the text, without the end token, each with its log-probability', async () => {
    const { tokens } = await run(reply('abc'), {});
    expect(tokens.map(({ text, bytes }) => [text, bytes])).toEqual([
      ['a', [97]],
      ['b', [98]],
      ['c', [99]],
    ]);
    for (const { top, ...token } of tokens) expect(top).toEqual([token]);
  });

  it('are none of half a character that a stop text has taken', async () => {
    const { tokens, result } = await run((context) => [97, 0xe2][context.length - 1]!, {
      maxTokens: 2,
      stop: '\ufffd',
    });
    expect([result.text, tokens.map(({ text }) => text)]).toEqual(['a', ['a']]);
  });

  it('are markers, too, where the text shows them', async () => {
    const { imStart } = fakeTokens;
    const { model } = await createFakeModel({
      next: (context) => [97, imStart, 98][context.length - 1] ?? fakeTokens.eos,
    });
    models.push(model);
    for (const showSpecialTokens of [[], [imStart]]) {
      const session = model.createSession({ tokenIds: [1] });
      const collector = new TextLogprobs(model.tokenizer, showSpecialTokens);
      const tokens: TextLogprob[] = [];
      const generation = session.generate({ temperature: 0, logprobs: 0, showSpecialTokens });
      for await (const delta of generation) tokens.push(...collector.push(delta));
      const result = await generation.result;
      tokens.push(...collector.finish(result));
      expect(joined(tokens)).toBe(result.text);
      expect(tokens.map(({ text }) => text)).toEqual(['a', showSpecialTokens.length > 0 ? '<|im_start|>' : '', 'b']);
    }
  });

  it('have a character in the last of those that make it', async () => {
    const { tokens } = await run(reply('a😀b'), {});
    expect(tokens.map(({ text }) => text)).toEqual(['a', '', '', '', '😀', 'b']);
    expect(tokens.flatMap(({ bytes }) => bytes)).toEqual(bytesOf('a😀b'));
  });

  it.each([
    ['c😀d', 'abc😀d.', 'ab', 2],
    ['😀', 'ab😀', 'ab', 2],
    ['zzz', 'abzzy', 'abzzy', 5],
    ['a', 'abc', '', 0],
  ])('hold nothing of the stop text %j of %j', async (stop, text, expected, numTokens) => {
    const { tokens, result } = await run(reply(text), { stop });
    expect(joined(tokens)).toBe(expected);
    expect(result.text).toBe(expected);
    expect(tokens).toHaveLength(numTokens);
  });

  it('leave an end token out that has a text of its own', async () => {
    const { tokens } = await run(reply('abc'), { stopTokenIds: [99] });
    expect(joined(tokens)).toBe('ab');
  });

  it('end in half a character when the text does', async () => {
    const { tokens, result } = await run(reply('a😀'), { maxTokens: 3 });
    expect(result.text).toBe('a\ufffd');
    expect(tokens.map(({ text }) => text)).toEqual(['a', '', '\ufffd']);
  });

  it('joined are the text, whatever its bytes and stop texts', async () => {
    const bytes = [...bytesOf('aé😀'), 98, 99, 0xf0, fakeTokens.bos];
    const next = hashScript(bytes.length);
    let numStopped = 0;
    for (let seed = 0; seed < 60; seed++) {
      const stop = [['b\u{1f600}', 'cb', '\ufffdc', 'a'][seed % 4]!, 'bca'];
      const options = { stop, maxTokens: 40, stopTokenIds: seed % 3 === 0 ? [99] : [] };
      const { tokens, result } = await run((context) => bytes[next(context) as number]!, options, [seed]);
      expect(joined(tokens)).toBe(result.text);
      if (result.finishReason === 'stop') numStopped++;
      else expect(tokens).toHaveLength(result.tokenIds.length);
    }
    expect(numStopped).toBeGreaterThan(20);
  });
});
