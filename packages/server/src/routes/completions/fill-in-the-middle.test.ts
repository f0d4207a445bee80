import { bytesOf, createFakeModel, FakeTokenizer, fakeTokens } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import type { AnyJson } from '../../__fixtures__/test-server.ts';
import { createServer, type HearthServer } from '../../index.ts';
import { fillTokens } from './fill-in-the-middle.ts';

const path = 'http://localhost/v1/completions';
const [prefixId, suffixId, middleId, fileEndId] = [260, 261, 262, 263];

/** Gives the fake tokenizer tokens for these markers. */
function teach(tokenizer: FakeTokenizer, markers: Readonly<Record<string, number>>): FakeTokenizer {
  const encode = tokenizer.encode.bind(tokenizer);
  tokenizer.encode = async (text, options) => {
    const id = options?.specialTokens === 'parse' ? markers[text] : undefined;
    return id === undefined ? encode(text, options) : Int32Array.of(id);
  };
  return tokenizer;
}

describe('the tokens to fill a middle with', () => {
  it.each([
    ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>', '<|file_sep|>'],
    ['<fim_prefix>', '<fim_suffix>', '<fim_middle>', '<file_sep>'],
    ['▁<PRE>', '▁<SUF>', '▁<MID>', '▁<EOT>'],
  ])('are found by their names: %s', async (prefix, suffix, middle, end) => {
    const markers = { [prefix]: prefixId, [suffix]: suffixId, [middle]: middleId, [end]: fileEndId };
    expect(await fillTokens(teach(new FakeTokenizer(), markers))).toEqual({
      prefix: prefixId,
      suffix: suffixId,
      middle: middleId,
      ends: [fileEndId],
    });
  });

  it('are all there or none', async () => {
    const tokenizer = teach(new FakeTokenizer(), { '<fim_prefix>': prefixId, '<fim_suffix>': suffixId });
    expect(await fillTokens(tokenizer)).toBeUndefined();
  });

  it('are looked for again after a failure', async () => {
    const tokenizer = teach(new FakeTokenizer(), { '<PRE>': prefixId, '<SUF>': suffixId, '<MID>': middleId });
    const { encode } = tokenizer;
    tokenizer.encode = () => Promise.reject(new Error('no memory'));
    await expect(fillTokens(tokenizer)).rejects.toThrow('no memory');
    tokenizer.encode = encode;
    expect(await fillTokens(tokenizer)).toMatchObject({ prefix: prefixId, ends: [] });
  });
});

describe('a completion with a suffix', () => {
  let server: HearthServer;
  let prompts: number[][];

  afterEach(() => server.dispose());

  async function fill(body: object) {
    prompts = [];
    const load = async () => {
      const { model, tokenizer } = await createFakeModel({
        // Writes "mid" after the marker of the middle, then begins the next file, and would go on.
        next: (context) => {
          const written = context.slice(context.indexOf(middleId) + 1);
          if (written.length === 0) prompts.push([...context]);
          return [...bytesOf('mid'), fileEndId][written.length] ?? 120;
        },
      });
      const markers = { '<fim_prefix>': prefixId, '<fim_suffix>': suffixId, '<fim_middle>': middleId };
      teach(tokenizer, { ...markers, '<file_sep>': fileEndId });
      return { model, dispose: () => model.dispose() };
    };
    server = createServer({ models: [{ name: 'fill', load }] });
    const response = await server.fetch(
      new Request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ temperature: 0, ...body }),
      }),
    );
    return { status: response.status, body: (await response.json()) as AnyJson };
  }

  it('is what stands between the two, up to the end of the middle', async () => {
    const { body } = await fill({ prompt: 'ab', suffix: 'yz' });
    expect(prompts).toEqual([[fakeTokens.bos, prefixId, ...bytesOf('ab'), suffixId, ...bytesOf('yz'), middleId]]);
    expect(body.choices).toEqual([{ index: 0, text: 'mid', logprobs: null, finish_reason: 'stop' }]);
    expect(body.usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 4 });
  });

  it('takes control words in either for text', async () => {
    await fill({ prompt: '</s>', suffix: '<|im_end|>' });
    expect(prompts).toEqual([
      [fakeTokens.bos, prefixId, ...bytesOf('</s>'), suffixId, ...bytesOf('<|im_end|>'), middleId],
    ]);
  });

  it('may begin with it', async () => {
    expect((await fill({ prompt: '', suffix: 'yz' })).body.choices[0].text).toBe('mid');
  });

  it('is none when the suffix is empty, and cannot be echoed', async () => {
    expect((await fill({ prompt: 'ab', suffix: '', max_tokens: 2 })).body.usage.prompt_tokens).toBe(3);
    await server.dispose();
    expect(await fill({ prompt: 'ab', suffix: 'yz', echo: true })).toMatchObject({
      status: 400,
      body: { error: { param: 'echo' } },
    });
  });
});
