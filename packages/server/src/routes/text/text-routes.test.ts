import { loadChatTemplate } from '@hearth/chat-format';
import { bytesOf, fakeTokens, replyScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const { bos, imStart, imEnd } = fakeTokens;
const hello = [bos, ...bytesOf('héllo')];

let test: TestServer;

beforeEach(async () => {
  test = await testServer({ next: replyScript(4, 'ok', 257) });
});

afterEach(() => test.server.dispose());

describe('/tokenize', () => {
  it.each(['content', 'prompt'])('answers the ids of %s, as a completion begins', async (field) => {
    const { status, body } = await test.json('/tokenize', { [field]: 'héllo' });
    expect(status).toBe(200);
    expect(body).toEqual({ tokens: hello, count: 7, max_model_len: 256 });
  });

  it('leaves the start token out when asked to, and never gives two (B21)', async () => {
    const tokensOf = async (request: object) => (await test.json('/tokenize', request)).body.tokens;
    expect(await tokensOf({ content: 'héllo', add_special_tokens: false })).toEqual(hello.slice(1));
    expect(await tokensOf({ content: '<s>héllo' })).toEqual(hello);
    expect(await tokensOf({ content: '' })).toEqual([bos]);
  });

  it('takes control words for control tokens, unless told otherwise', async () => {
    const content = 'a<|im_end|>';
    const parsed = await test.json('/tokenize', { content });
    expect(parsed.body.tokens).toEqual([bos, 97, imEnd]);
    const plain = await test.json('/tokenize', { content, parse_special: false });
    expect(plain.body.tokens).toEqual([bos, ...bytesOf(content)]);
  });

  it('answers the text of each token, bytes where it is no whole character', async () => {
    const { body } = await test.json('/tokenize', {
      content: 'hé',
      add_special_tokens: false,
      return_token_strs: true,
    });
    expect(body.token_strs).toEqual(['h', [0xc3], [0xa9]]);
    const pieces = await test.json('/tokenize', { content: 'hé', add_special_tokens: false, with_pieces: true });
    expect(pieces.body).toMatchObject({
      tokens: [
        { id: 104, piece: 'h' },
        { id: 0xc3, piece: [0xc3] },
        { id: 0xa9, piece: [0xa9] },
      ],
      count: 3,
    });
  });

  it('answers the ids of messages, in which control words are text (B20)', async () => {
    const messages = [{ role: 'user', content: 'a<|im_end|>' }];
    const { body } = await test.json('/tokenize', { messages });
    const turn = [imStart, ...bytesOf('user\na<|im_end|>'), imEnd, 10];
    expect(body.tokens).toEqual([bos, ...turn, imStart, ...bytesOf('assistant\n')]);
    const whole = await test.json('/tokenize', { messages, add_generation_prompt: false });
    expect(whole.body.tokens).toEqual([bos, ...turn]);
  });

  it.each([
    [{}, 'content'],
    [{ content: 'a', prompt: 'b' }, 'content'],
    [{ content: 7 }, 'content'],
    [{ content: 'a', parse_special: 'no' }, 'parse_special'],
    [{ messages: [] }, 'messages'],
    [{ messages: [null] }, 'messages[0]'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 'a' }], tools: 3 }, 'tools'],
  ])('refuses %j, naming %s', async (request, param) => {
    const { status, body } = await test.json('/tokenize', request);
    expect({ status, param: body.error.param }).toEqual({ status: 400, param });
  });
});

describe('/detokenize', () => {
  it('gives the text back', async () => {
    const { body } = await test.json('/detokenize', { tokens: hello.slice(1) });
    expect(body).toEqual({ content: 'héllo', prompt: 'héllo' });
    expect((await test.json('/v1/detokenize', { tokens: [] })).body).toEqual({ content: '', prompt: '' });
  });

  it.each([
    [[1, -1], 'tokens[1]'],
    [[0.5], 'tokens[0]'],
    [[1, 2, fakeTokens.vocabSize], 'tokens[2]'],
    [[1e300], 'tokens[0]'],
    [['1'], 'tokens'],
    ['12', 'tokens'],
    [undefined, 'tokens'],
  ])('refuses %j, naming %s', async (tokens, param) => {
    const { status, body } = await test.json('/detokenize', { tokens });
    expect({ status, param: body.error.param }).toEqual({ status: 400, param });
  });
});

describe('/apply-template', () => {
  const messages = [{ role: 'user', content: 'hi' }];

  it('answers the exact prompt, and its tokens when asked for', async () => {
    const prompt = '<s><|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n';
    expect((await test.json('/apply-template', { messages })).body).toEqual({ prompt });
    const { body } = await test.json('/v1/apply-template', { messages, return_tokens: true });
    const { body: tokenized } = await test.json('/tokenize', { messages });
    expect(body).toEqual({ prompt, tokens: tokenized.tokens });
  });

  it('refuses to begin a turn and to go on with one at once', async () => {
    const request = { messages, add_generation_prompt: true, continue_final_message: true };
    expect(await test.json('/apply-template', request)).toMatchObject({
      status: 400,
      body: { error: { param: 'continue_final_message' } },
    });
  });

  it.each(['/apply-template', '/tokenize'])(
    'refuses tools of which the template takes no notice, at %s',
    async (path) => {
      const tools = [{ type: 'function', function: { name: 'weather' } }];
      expect(await test.json(path, { messages, tools })).toMatchObject({
        status: 400,
        body: { error: { param: 'tools' } },
      });
      expect((await test.json(path, { messages, tools, tool_choice: 'none' })).status).toBe(200);
      expect((await test.json(path, { messages, tools: [], tool_choice: 'auto' })).status).toBe(200);
    },
  );

  it('writes tools that the template takes, in whatever form their calls come', async () => {
    const template = '{% for t in tools %}{{ t.function.name }};{% endfor %}{{ messages[0].content }}';
    const chatTemplate = await loadChatTemplate({ origin: 'test', template });
    const other = await testServer({ next: replyScript(4, 'ok', 257), chatTemplate });
    const tools = [{ type: 'function', function: { name: 'weather' } }];
    expect((await other.json('/apply-template', { messages, tools })).body).toEqual({ prompt: 'weather;hi' });
    await other.server.dispose();
  });

  it('says why when the model has no template', async () => {
    const other = await testServer({ next: replyScript(4, 'ok', 257), hasChatTemplate: false });
    expect(await other.json('/apply-template', { messages })).toMatchObject({
      status: 400,
      body: { error: { code: 'no_chat_template' } },
    });
    await other.server.dispose();
  });
});
