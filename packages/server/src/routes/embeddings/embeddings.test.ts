import { bytesOf, type CreateFakeModelOptions, fakeTokens, replyScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { openAiClient } from '../../__fixtures__/openai-client.ts';
import { type AnyJson, type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const path = '/v1/embeddings';
const { bos, vocabSize } = fakeTokens;

let test: TestServer;

afterEach(() => test.server.dispose());

async function serve(options: Partial<CreateFakeModelOptions> = {}) {
  test = await testServer({ next: replyScript(1, 'ok', fakeTokens.eos), ...options });
  return {
    embed: async (body: object): Promise<AnyJson> => {
      const { status, body: json } = await test.json(path, body);
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
      return json;
    },
    refusal: async (body: object) => {
      const { status, body: json } = await test.json(path, { input: 'a', ...body });
      return { status, param: json.error?.param, code: json.error?.code, message: json.error?.message };
    },
  };
}

const vectorsOf = ({ data }: AnyJson): AnyJson[] => data.map(({ embedding }: AnyJson) => embedding);

describe('embeddings', () => {
  it('have the shape of OpenAI, and exact usage', async () => {
    const { embed } = await serve();
    const body = await embed({ input: ['hello', 'you'], user: 'me', dimensions: null });
    expect(body).toMatchObject({ object: 'list', model: 'fake', usage: { prompt_tokens: 10, total_tokens: 10 } });
    expect(body.data).toMatchObject([
      { object: 'embedding', index: 0 },
      { object: 'embedding', index: 1 },
    ]);
  });

  it('are of length 1, and of one input or many, texts or ids, mixed, each as alone', async () => {
    const { embed } = await serve();
    const ids = [bos, ...bytesOf('hello')];
    const inputs = ['hello', ids, 'another', [7], 'hello'];
    const vectors = vectorsOf(await embed({ input: inputs }));
    for (const [index, input] of inputs.entries()) {
      const [alone] = vectorsOf(await embed({ input }));
      expect(vectors[index]).toEqual(alone);
      expect(Math.hypot(...alone)).toBeCloseTo(1, 6);
    }
    expect(vectors[1]).toEqual(vectors[0]);
    expect(vectors[2]).not.toEqual(vectors[0]);
  });

  it('are the same each time, also beside a hundred others', async () => {
    const { embed } = await serve();
    const [first] = vectorsOf(await embed({ input: 'again' }));
    for (let i = 0; i < 4; i++) expect(vectorsOf(await embed({ input: 'again' }))[0]).toEqual(first);
    const input = Array.from({ length: 101 }, (_, index) => (index === 57 ? 'again' : `other ${index}`));
    const { data } = await embed({ input });
    expect(data.map(({ index }: AnyJson) => index)).toEqual(input.map((_, index) => index));
    expect(data[57].embedding).toEqual(first);
  });

  it('are the same numbers in base64', async () => {
    const { embed } = await serve();
    const [numbers] = vectorsOf(await embed({ input: 'hello' }));
    const [base64] = vectorsOf(await embed({ input: 'hello', encoding_format: 'base64' }));
    const bytes = Buffer.from(base64, 'base64');
    expect(bytes).toHaveLength(4 * numbers.length);
    expect(numbers).toEqual(numbers.map((_: number, index: number) => bytes.readFloatLE(4 * index)));
  });

  it('take control words in texts for text (B20)', async () => {
    const { embed } = await serve();
    expect((await embed({ input: '</s>' })).usage.prompt_tokens).toBe(5);
  });

  it('reach the official client, which asks for base64 by itself', async () => {
    const { embed } = await serve();
    const client = openAiClient(test.server);
    const request = { model: 'fake', input: ['hello', 'you'] };
    const { data, usage } = await client.embeddings.create(request);
    expect(data.map(({ embedding }) => embedding)).toEqual(vectorsOf(await embed(request)));
    expect(usage).toEqual({ prompt_tokens: 10, total_tokens: 10 });
    const floats = await client.embeddings.create({ ...request, encoding_format: 'float' });
    expect(floats.data).toEqual(data);
  });

  it.each([
    [{ input: undefined }, 'input'],
    [{ input: null }, 'input'],
    [{ input: 5 }, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: ['a', ''] }, 'input[1]'],
    [{ input: [[]] }, 'input[0]'],
    [{ input: [1, -1] }, 'input[1]'],
    [{ input: [[0.5]] }, 'input[0][0]'],
    [{ input: [[1], [vocabSize]] }, 'input[1][0]'],
    [{ input: [1, 'a'] }, 'input'],
    [{ input: Array.from({ length: 2049 }, () => 'a') }, 'input'],
    [{ dimensions: 1 }, 'dimensions'],
    [{ dimensions: 0 }, 'dimensions'],
    [{ encoding_format: 'hex' }, 'encoding_format'],
    [{ truncate_prompt_tokens: 5 }, 'truncate_prompt_tokens'],
  ])('refuse %j, naming %s', async (body, param) => {
    const { refusal } = await serve();
    expect(await refusal(body)).toMatchObject({ status: 400, param });
  });

  it('refuse an input longer than the context, with both numbers', async () => {
    const { embed, refusal } = await serve({ contextLength: 64 });
    expect((await embed({ input: 'a'.repeat(63) })).usage.prompt_tokens).toBe(64);
    const refused = await refusal({ input: ['a', 'a'.repeat(64)] });
    expect(refused).toMatchObject({ status: 400, param: 'input[1]', code: 'context_length_exceeded' });
    expect(refused.message).toMatch(/65 .* 64/);
    // Nothing is left of it.
    expect((await embed({ input: 'b' })).data).toHaveLength(1);
  });

  it('take the one number of dimensions that the model has', async () => {
    const { embed } = await serve();
    const [vector] = vectorsOf(await embed({ input: 'a' }));
    expect(vectorsOf(await embed({ input: 'a', dimensions: vector.length }))).toEqual([vector]);
  });
});
