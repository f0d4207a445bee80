import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiClient } from '../__fixtures__/openai-client.ts';
import { smolLm2Path, smolLm2Server } from '../__fixtures__/smollm2-server.ts';
import type { AnyJson } from '../__fixtures__/test-server.ts';
import type { HearthServer } from '../index.ts';

describe.skipIf(!smolLm2Path)('SmolLM2-135M-Instruct, as text and as vectors', () => {
  let server: HearthServer;
  let client: OpenAI;

  beforeAll(async () => {
    server = await smolLm2Server();
    client = openAiClient(server);
  });

  afterAll(() => server.dispose());

  const complete = (body: object) =>
    client.completions.create({ model: 'smollm2', prompt: 'The capital of France is', temperature: 0, ...body });

  async function post(path: string, body: object): Promise<AnyJson> {
    const headers = { 'Content-Type': 'application/json' };
    const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await server.fetch(request)).json();
  }

  it('goes on with several prompts as with each alone, streamed and not', async () => {
    const prompt = ['The capital of France is', 'Once upon a time', 'def fibonacci(n):'];
    const { choices } = await complete({ prompt });
    for (const [index, text] of prompt.entries()) {
      const alone = await complete({ prompt: text });
      expect(choices[index]!.text).toBe(alone.choices[0]!.text);
    }
    const texts = ['', '', ''];
    const stream = await client.completions.create({ model: 'smollm2', prompt, temperature: 0, stream: true });
    for await (const chunk of stream) for (const { index, text } of chunk.choices) texts[index] += text;
    expect(texts).toEqual(choices.map(({ text }) => text));
  });

  it('scores a text as it has made it, to the bit', async () => {
    const made = (await complete({ logprobs: 3, max_tokens: 12 })).choices[0]!;
    const prompt = `The capital of France is${made.text}`;
    const { choices, usage } = await complete({ prompt, logprobs: 3, max_tokens: 0, echo: true });
    const [{ text, logprobs }] = choices as [OpenAI.CompletionChoice];
    expect(text).toBe(prompt);
    expect(logprobs!.tokens!.join('')).toBe(prompt);
    expect(logprobs!.token_logprobs![0]).toBeNull();
    expect(logprobs!.token_logprobs!.slice(-12)).toEqual(made.logprobs!.token_logprobs);
    expect(logprobs!.top_logprobs!.slice(-12)).toEqual(made.logprobs!.top_logprobs);
    expect(logprobs!.tokens).toHaveLength(usage!.prompt_tokens);
    logprobs!.tokens!.forEach((token, index) => {
      expect(prompt.slice(logprobs!.text_offset![index]!).startsWith(token)).toBe(true);
    });
  });

  it('goes on from ids as from their text, which tokenize and detokenize turn into each other', async () => {
    const content = 'Zwei Füße, 两只脚, 🦶🦶';
    const { tokens } = await post('/tokenize', { content });
    expect((await post('/detokenize', { tokens })).content).toBe(content);
    const [byIds, byText] = [await complete({ prompt: tokens }), await complete({ prompt: content })];
    expect(byIds.choices).toEqual(byText.choices);
    expect(byIds.usage!.prompt_tokens).toBe(tokens.length);
  });

  it('says the exact prompt of a chat, which a completion goes on from as a chat does', async () => {
    const messages = [{ role: 'user' as const, content: 'What is the capital of France?' }];
    const { prompt, tokens } = await post('/apply-template', { messages, return_tokens: true });
    expect((await post('/tokenize', { content: prompt })).tokens).toEqual(tokens);
    const chat = await client.chat.completions.create({ model: 'smollm2', messages, temperature: 0, max_tokens: 16 });
    const { choices, usage } = await complete({ prompt });
    expect(choices[0]!.text).toBe(chat.choices[0]!.message.content);
    expect(usage!.prompt_tokens).toBe(chat.usage!.prompt_tokens);
  });

  it('holds a completion to one of several texts', async () => {
    const { choices } = await complete({ n: 4, temperature: 2, structured_outputs: { choice: [' Paris', ' Rome'] } });
    for (const { text, finish_reason } of choices) {
      expect([' Paris', ' Rome']).toContain(text);
      expect(finish_reason).toBe('stop');
    }
  });

  it('puts texts that are alike closer together than others', async () => {
    const input = ['The cat sleeps on the sofa.', 'A kitten is napping on the couch.', 'Interest rates rose in March.'];
    const { data } = await client.embeddings.create({ model: 'smollm2', input });
    const [cat, kitten, rates] = data.map(({ embedding }) => embedding) as [number[], number[], number[]];
    const cosine = (a: number[], b: number[]) => a.reduce((sum, value, index) => sum + value * b[index]!, 0);
    expect(cosine(cat, cat)).toBeCloseTo(1, 5);
    expect(cosine(cat, kitten)).toBeGreaterThan(cosine(cat, rates));
    expect(cosine(cat, kitten)).toBeGreaterThan(cosine(kitten, rates));
  });

  it('gives one vector each time, alone or among others, as numbers or base64', async () => {
    const input = 'The same text, again and again.';
    const first = (await client.embeddings.create({ model: 'smollm2', input })).data[0]!.embedding;
    for (let i = 0; i < 3; i++) {
      const among = ['one', input, 'quite another text that is longer than the rest of them'];
      const { data } = await client.embeddings.create({ model: 'smollm2', input: among, encoding_format: 'float' });
      expect(data[1]!.embedding).toEqual(first);
    }
  });
});
