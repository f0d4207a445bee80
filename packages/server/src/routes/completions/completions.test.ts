import { bytesOf, type CreateFakeModelOptions, fakeTokens, hashScript, loopingScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { type AnyJson, type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const path = '/v1/completions';
const { bos, eos, vocabSize } = fakeTokens;
const greedy = { temperature: 0 };

let test: TestServer;

afterEach(() => test.server.dispose());

async function serve(options: Partial<CreateFakeModelOptions> = {}, maxChoices?: number) {
  test = await testServer({ next: hashScript(128), ...options }, { maxChoices });
  const answer = async (body: object): Promise<AnyJson> => {
    const { status, body: json } = await test.json(path, { ...greedy, ...body });
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
    return json;
  };
  return {
    answer,
    text: async (body: object): Promise<string> => (await answer(body)).choices[0].text,
    events: (body: object) => test.events(path, { ...greedy, stream: true, ...body }),
    refusal: async (body: object) => {
      const { status, body: json } = await test.json(path, { prompt: 'a', ...body });
      return { status, param: json.error?.param, code: json.error?.code, message: json.error?.message };
    },
  };
}

/** What a stream says in the end, by choice. */
function joined(events: readonly AnyJson[]): { text: string; reason: string; logprobs: AnyJson }[] {
  const texts: { text: string; reason: string; logprobs: AnyJson }[] = [];
  for (const { index, text, finish_reason, logprobs } of events.flatMap((event) => event.choices ?? [])) {
    texts[index] ??= { text: '', reason: '', logprobs: {} };
    texts[index].text += text;
    texts[index].reason += finish_reason ?? '';
    for (const [name, values] of Object.entries(logprobs ?? {})) {
      texts[index].logprobs[name] = [...(texts[index].logprobs[name] ?? []), ...(values as unknown[])];
    }
  }
  return texts;
}

describe('a completion', () => {
  it('has the shape of OpenAI, 16 tokens, and exact usage', async () => {
    const { answer } = await serve();
    const body = await answer({ prompt: 'hello', user: 'me', unknown: 1 });
    expect(body).toMatchObject({
      object: 'text_completion',
      model: 'fake',
      choices: [{ index: 0, logprobs: null, finish_reason: 'length' }],
      usage: { prompt_tokens: 6, completion_tokens: 16, total_tokens: 22, prompt_tokens_details: { cached_tokens: 0 } },
    });
    expect(body.id).toMatch(/^cmpl-\w{20,}$/);
    expect(body.choices[0].text).toHaveLength(16);
    const prompt = 'hello'.repeat(4);
    await answer({ prompt });
    expect((await answer({ prompt })).usage.prompt_tokens_details.cached_tokens).toBe(16);
  });

  it.each([
    [0, '', 0],
    [3, 'bca', 3],
    [1e9, 'bca'.repeat(30).slice(0, 62), 62],
    [null, 'bca'.repeat(30).slice(0, 62), 62],
  ])('makes max_tokens of %j (B49)', async (max_tokens, expected, numTokens) => {
    const { answer } = await serve({ next: loopingScript('abc'), contextLength: 64 });
    const { choices, usage } = await answer({ prompt: 'a', max_tokens });
    expect(choices).toEqual([{ index: 0, text: expected, logprobs: null, finish_reason: 'length' }]);
    expect(usage).toMatchObject({ prompt_tokens: 2, completion_tokens: numTokens });
  });

  it('stops at the end token and at stop texts, of which nothing shows, streamed or not (B38)', async () => {
    const { answer, events, text } = await serve({ next: loopingScript('abc😀d') });
    for (const [stop, expected] of [
      ['c😀d', 'ab'],
      ['c😀X', 'abc😀dabc😀d'],
      [['bca', '😀'], 'abc'],
      ['a', ''],
      [['', 'd'], 'abc😀'],
    ]) {
      const request = { prompt: 'x', stop };
      expect(await text(request)).toBe(expected);
      expect(joined(await events(request))[0]!.text).toBe(expected);
    }
    expect((await answer({ prompt: 'x', stop: 'd' })).choices[0].finish_reason).toBe('stop');
    expect(await text({ prompt: 'x', stop_token_ids: [bytesOf('c')[0]] })).toBe('ab');
  });

  it('ends without the text of its end token', async () => {
    const { answer } = await serve({ next: (context) => (context.length < 6 ? 97 : eos) });
    const { choices, usage } = await answer({ prompt: 'xyz', logprobs: 0 });
    expect(choices[0]).toMatchObject({ text: 'aa', finish_reason: 'stop', logprobs: { tokens: ['a', 'a'] } });
    expect(usage.completion_tokens).toBe(3);
    expect(await answer({ prompt: 'xyz', ignore_eos: true, max_tokens: 8 })).toMatchObject({
      choices: [{ text: 'aa', finish_reason: 'length' }],
      usage: { completion_tokens: 8 },
    });
  });
});

describe('prompts', () => {
  const ids = [bos, ...bytesOf('hi')];

  it('are text, ids, or lists of either, mixed, each answered as alone and by index', async () => {
    const { answer, text } = await serve();
    const prompts = ['one', ids, 'three', [5], 'one'];
    const { choices, usage } = await answer({ prompt: prompts, n: 2 });
    expect(choices.map((choice: AnyJson) => choice.index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const [index, prompt] of prompts.entries()) {
      expect(choices[2 * index].text).toBe(await text({ prompt }));
    }
    // Each prompt once, each text.
    expect(usage).toMatchObject({ prompt_tokens: 4 + 3 + 6 + 1 + 4, completion_tokens: 160 });
  });

  it('have equal draws whether alone or in a list', async () => {
    const next = () => Float32Array.from({ length: vocabSize }, (_, id) => (id >= 97 && id < 123 ? 1 : -20));
    const { answer } = await serve({ next });
    const sampled = { temperature: 1, seed: 7 };
    const [first, second] = (await answer({ prompt: ['a', 'a'], ...sampled })).choices;
    expect(second.text).toBe(first.text);
    const { choices } = await answer({ prompt: 'a', n: 2, ...sampled });
    expect(choices[0].text).toBe(first.text);
    expect(choices[1].text).not.toBe(first.text);
  });

  it('begin with one start token, and control words in them are control tokens (B21)', async () => {
    const { answer, text } = await serve();
    const numTokens = async (body: object) => (await answer(body)).usage.prompt_tokens;
    expect(await numTokens({ prompt: 'hi' })).toBe(3);
    expect(await numTokens({ prompt: '<s>hi' })).toBe(3);
    expect(await numTokens({ prompt: 'hi', add_special_tokens: false })).toBe(2);
    expect(await numTokens({ prompt: '<s>hi', parse_special: false })).toBe(6);
    expect(await numTokens({ prompt: '' })).toBe(1);
    expect(await text({ prompt: 'hi' })).toBe(await text({ prompt: ids }));
  });

  it.each([
    [undefined, 'prompt'],
    [null, 'prompt'],
    [7, 'prompt'],
    [{}, 'prompt'],
    [[1, 'a'], 'prompt'],
    [[['a']], 'prompt'],
    [[null], 'prompt'],
    [[], 'prompt'],
    [[[]], 'prompt[0]'],
    [['a', []], 'prompt[1]'],
    [[1, -1], 'prompt[1]'],
    [[0.5], 'prompt[0]'],
    [[['a'.length], [vocabSize]], 'prompt[1][0]'],
    [[1e300], 'prompt[0]'],
  ])('of %j are refused, naming %s', async (prompt, param) => {
    const { refusal } = await serve();
    expect(await refusal({ prompt })).toMatchObject({ status: 400, param });
  });

  it('may not be empty for a model without a start token', async () => {
    const { refusal, answer } = await serve({ addsBos: false });
    expect(await refusal({ prompt: '' })).toMatchObject({ status: 400, param: 'prompt' });
    expect(await refusal({ prompt: ['a', ''] })).toMatchObject({ status: 400, param: 'prompt[1]' });
    expect((await answer({ prompt: 'a' })).usage.prompt_tokens).toBe(1);
  });

  it('may not be too many, each times n', async () => {
    const { refusal, answer } = await serve({}, 4);
    expect((await answer({ prompt: ['a', 'b'], n: 2 })).choices).toHaveLength(4);
    expect(await refusal({ prompt: ['a', 'b', 'c'], n: 2 })).toMatchObject({ status: 400, param: 'prompt' });
    expect(await refusal({ prompt: 'a', n: 5 })).toMatchObject({ status: 400, param: 'n' });
    expect(await refusal({ prompt: 'a', best_of: 5 })).toMatchObject({ status: 400, param: 'best_of' });
  });

  it.each([false, true])('longer than the context are refused with both numbers, stream %s (B48)', async (stream) => {
    const { refusal, answer } = await serve({ contextLength: 64 });
    for (const length of [63, 64, 65, 5000]) {
      const { status, code, message } = await refusal({ prompt: 'a'.repeat(length), stream });
      expect({ status, code }).toEqual(
        length < 63 ? { status: 200 } : { status: 400, code: 'context_length_exceeded' },
      );
      expect(message).toContain('64');
      expect(message).toContain(String(Math.max(65, length + 1)));
    }
    expect((await answer({ prompt: 'a'.repeat(62), max_tokens: 9 })).choices[0]).toMatchObject({
      text: expect.stringMatching(/^.$/s),
      finish_reason: 'length',
    });
    expect((await answer({ prompt: 'a'.repeat(63), max_tokens: 0 })).choices[0].text).toBe('');
  });
});

describe('a stream', () => {
  it('says the same as the whole answer, by index, then [DONE]', async () => {
    const { answer, events } = await serve();
    const request = { prompt: ['one', 'two'], n: 2, logprobs: 2, echo: true };
    const whole = await answer(request);
    const stream = await events(request);
    expect(stream.pop()).toBe('[DONE]');
    expect(new Set(stream.map(({ id, object, created }) => `${id} ${object} ${created}`)).size).toBe(1);
    expect(stream[0].object).toBe('text_completion');
    expect(joined(stream)).toEqual(
      whole.choices.map(({ text, finish_reason: reason, logprobs }: AnyJson) => ({ text, reason, logprobs })),
    );
    for (const event of stream) expect(event).not.toHaveProperty('usage');
  });

  it('ends with the usage when asked for', async () => {
    const { events, refusal } = await serve();
    const stream = await events({ prompt: ['ab', 'c'], stream_options: { include_usage: true } });
    expect(stream.at(-1)).toBe('[DONE]');
    expect(stream.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 32, total_tokens: 37 },
    });
    for (const event of stream.slice(0, -2)) expect(event.usage).toBeNull();
    expect(await refusal({ stream_options: { include_usage: true } })).toMatchObject({
      status: 400,
      param: 'stream_options',
    });
  });
});

describe('best_of', () => {
  it('answers the texts of the most probable tokens, best first', async () => {
    // Two ways to go on, of which the second is rare.
    const next = () => Float32Array.from({ length: vocabSize }, (_, id) => (id === 97 ? 1 : id === 98 ? 0 : -100));
    const { answer } = await serve({ next });
    const request = { prompt: 'x', temperature: 1, seed: 3, max_tokens: 5 };
    const numRare = ({ text }: { text: string }) => text.replaceAll('a', '').length;
    const all = (await answer({ ...request, n: 8 })).choices.map(numRare);
    const { choices, usage } = await answer({ ...request, n: 3, best_of: 8 });
    expect(new Set(all).size).toBeGreaterThan(2);
    expect(choices.map(numRare)).toEqual(all.sort().slice(0, 3));
    expect(choices.map(({ index, logprobs }: AnyJson) => [index, logprobs])).toEqual([
      [0, null],
      [1, null],
      [2, null],
    ]);
    expect(usage.completion_tokens).toBe(40);
  });

  it('is at least n, and not more than n in a stream', async () => {
    const { refusal } = await serve();
    expect(await refusal({ n: 3, best_of: 2 })).toMatchObject({ status: 400, param: 'best_of' });
    expect(await refusal({ n: 2, best_of: 3, stream: true })).toMatchObject({ status: 400, param: 'best_of' });
    expect((await refusal({ n: 2, best_of: 2, temperature: 0 })).status).toBe(200);
  });
});

describe('log-probabilities', () => {
  it('are of the chosen token and of so many of the best', async () => {
    const { answer } = await serve();
    for (const logprobs of [0, 1, 5, 20]) {
      const { choices } = await answer({ prompt: 'abc', max_tokens: 4, logprobs });
      const { tokens, token_logprobs, top_logprobs, text_offset } = choices[0].logprobs;
      expect(tokens.join('')).toBe(choices[0].text);
      expect(text_offset).toEqual([0, 1, 2, 3]);
      top_logprobs.forEach((top: Record<string, number>, index: number) => {
        expect(Object.keys(top)).toHaveLength(Math.max(1, logprobs));
        expect(top[tokens[index]]).toBe(token_logprobs[index]);
      });
    }
  });

  it('of an echoed prompt begin with null and have the right places (B49)', async () => {
    const { answer } = await serve();
    const prompt = 'né😀b';
    for (const max_tokens of [0, 3]) {
      const { choices, usage } = await answer({ prompt, max_tokens, echo: true, logprobs: 2 });
      const [{ text, logprobs }] = choices;
      expect(text.startsWith(prompt)).toBe(true);
      // The start token has no text; characters of several bytes are in the last of these.
      const tokens = ['', 'n', '', 'é', '', '', '', '😀', 'b'];
      expect(logprobs.tokens.slice(0, 9)).toEqual(tokens);
      expect(logprobs.tokens.join('')).toBe(text);
      expect(logprobs.tokens).toHaveLength(9 + max_tokens);
      expect(logprobs.text_offset.slice(0, 9)).toEqual([0, 0, 1, 1, 2, 2, 2, 2, 3]);
      expect(logprobs.text_offset.slice(9)).toEqual([4, 5, 6].slice(0, max_tokens));
      expect([logprobs.token_logprobs[0], logprobs.top_logprobs[0]]).toEqual([null, null]);
      for (const logprob of logprobs.token_logprobs.slice(1)) expect(logprob).toBeLessThan(0);
      expect(usage).toMatchObject({
        prompt_tokens: 9,
        completion_tokens: max_tokens,
        prompt_tokens_details: { cached_tokens: 0 },
      });
    }
  });

  it('of a text are those of the same tokens as a prompt', async () => {
    const { answer } = await serve();
    const made = (await answer({ prompt: 'abc', logprobs: 3, max_tokens: 6 })).choices[0];
    const prompt = [bos, ...bytesOf(`abc${made.text}`)];
    const { text, logprobs } = (await answer({ prompt, logprobs: 3, max_tokens: 0, echo: true })).choices[0];
    // Ids are echoed as the text that they are, control words written out.
    expect(text).toBe(`<s>abc${made.text}`);
    expect(logprobs.token_logprobs.slice(4)).toEqual(made.logprobs.token_logprobs);
    expect(logprobs.top_logprobs.slice(4)).toEqual(made.logprobs.top_logprobs);
  });

  it('are not said of a prompt of one token but null', async () => {
    const { answer } = await serve();
    const { choices } = await answer({ prompt: [5], max_tokens: 0, echo: true, logprobs: 1 });
    expect(choices[0].logprobs).toEqual({
      tokens: ['\u0005'],
      token_logprobs: [null],
      top_logprobs: [null],
      text_offset: [0],
    });
  });

  it.each([21, -1, 1.5, true, '5'])('of %j are refused, and the server goes on', async (logprobs) => {
    const { refusal, text } = await serve();
    expect(await refusal({ logprobs })).toMatchObject({ status: 400, param: 'logprobs' });
    expect(await text({ prompt: 'a' })).toHaveLength(16);
  });

  it('echo without them shows the prompt only', async () => {
    const { answer } = await serve({ next: loopingScript('abc') });
    const { choices } = await answer({ prompt: ['xa', [bos, 98]], max_tokens: 2, echo: true });
    expect(choices.map(({ text, logprobs }: AnyJson) => [text, logprobs])).toEqual([
      ['xabc', null],
      ['<s>bca', null],
    ]);
  });
});

describe('what is refused', () => {
  it.each([
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: 2.5 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_new_tokens: 5 }, 'max_new_tokens'],
    [{ system: 'x' }, 'system'],
    [{ n: 0 }, 'n'],
    [{ n: 1e6 }, 'n'],
    [{ seed: 0.5 }, 'seed'],
    [{ temperature: -1 }, 'temperature'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ logit_bias: { a: 1 } }, 'logit_bias'],
    [{ stop: [null] }, 'stop[0]'],
    [{ suffix: 'b' }, 'suffix'],
    [{ suffix: 5 }, 'suffix'],
    [{ echo: 'yes' }, 'echo'],
    [{ stream: 1 }, 'stream'],
    [{ messages: [] }, 'messages'],
    [{ guided_json: {} }, 'guided_json'],
    [{ structured_outputs: {} }, 'structured_outputs'],
  ])('%j, by its name', async (body, param) => {
    const { refusal } = await serve();
    expect(await refusal(body)).toMatchObject({ status: 400, param });
  });

  it('biases of tokens that there are not, all by their ids (B34)', async () => {
    const { refusal, text } = await serve();
    const refused = await refusal({ logit_bias: { 5: 1, 264: 1, 99999: -100 } });
    expect(refused).toMatchObject({ status: 400, param: 'logit_bias' });
    expect(refused.message).toContain('264, 99999');
    const greedyToken = (await text({ prompt: 'a', max_tokens: 1 })).charCodeAt(0);
    const banned = await text({ prompt: 'a', max_tokens: 1, logit_bias: { [greedyToken]: -100 } });
    expect(banned.charCodeAt(0)).not.toBe(greedyToken);
    expect(await text({ prompt: 'a', max_tokens: 1, logit_bias: { 122: 100 } })).toBe('z');
  });

  it('nothing that is null', async () => {
    const { answer } = await serve();
    const names = ['n', 'best_of', 'echo', 'suffix', 'logprobs', 'stop', 'seed', 'stream', 'stream_options', 'user'];
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect((await answer({ prompt: 'a', ...nulls })).choices).toHaveLength(1);
  });
});

describe('structured_outputs', () => {
  it('hold every text to its grammar, streamed and not', async () => {
    const { answer, events, refusal } = await serve();
    const request = { prompt: ['a', 'b', 'c'], structured_outputs: { choice: ['yes', 'no'] } };
    const { choices } = await answer(request);
    for (const { text, finish_reason } of choices) {
      expect(['yes', 'no']).toContain(text);
      expect(finish_reason).toBe('stop');
    }
    expect(joined(await events(request)).map(({ text }) => text)).toEqual(choices.map(({ text }: AnyJson) => text));
    expect(await refusal({ structured_outputs: { grammar: 'root ::= (' } })).toMatchObject({
      status: 400,
      param: 'structured_outputs',
    });
  });

  it('may also come as response_format, but not both', async () => {
    const { text, refusal } = await serve();
    const schema = {
      type: 'object',
      properties: { a: { enum: [1, 2] } },
      required: ['a'],
      additionalProperties: false,
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    const made = JSON.parse(await text({ prompt: 'a', response_format, max_tokens: null }));
    expect([1, 2]).toContain(made.a);
    expect(await refusal({ response_format, structured_outputs: { choice: ['a'] } })).toMatchObject({
      status: 400,
      param: 'structured_outputs',
    });
  });
});
