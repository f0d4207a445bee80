import { type ConversationStore, openConversationStore } from '@hearth/conversations';
import { createFakeModel, hashScript } from '@hearth/engine/test';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerChecker } from '../../__fixtures__/answer-checker.ts';
import { arbitraryFromSchema } from '../../__fixtures__/arbitrary-from-schema.ts';
import { fuzz, numFuzzRuns } from '../../__fixtures__/fuzz.ts';
import { mutatedJson, writeJson } from '../../__fixtures__/mutated-json.ts';
import type { AnyJson } from '../../__fixtures__/test-server.ts';
import { createServer, type HearthServer } from '../../index.ts';
import { openApiPath } from '../../openapi/open-api-path.ts';
import { conversationRoutes } from './conversation-routes.ts';

const store: ConversationStore = openConversationStore(':memory:');
const { id } = store.create({ title: 'there' });
let server: HearthServer;
let document: AnyJson;
let checker: AnswerChecker;

beforeAll(async () => {
  const load = async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    return { model, dispose: () => model.dispose() };
  };
  server = createServer({ models: [{ name: 'fake', load }], conversations: store });
  document = await (await server.fetch(new Request('http://localhost/openapi.json'))).json();
  checker = new AnswerChecker(document);
});

afterAll(async () => {
  await server.dispose();
  store.close();
});

const routes = conversationRoutes(store).map(({ method, path, body }) => ({ method, path: openApiPath(path), body }));

/** @returns the status of an answer that is as described */
async function send(method: string, path: string, url: string, body?: string): Promise<number> {
  const headers = { 'Content-Type': 'application/json' };
  const init = { method, ...(body !== undefined && { body, headers }) };
  const response = await server.fetch(new Request(`http://localhost${url}`, init));
  await checker.check(method, path, response);
  return response.status;
}

describe.each(routes.filter(({ body }) => body))('$method $path', ({ method, path }) => {
  const url = path.replace('{id}', id).replace('{index}', '0');
  const hints = { index: () => fc.constant(null) };
  const bodies = () => {
    const { schema } = document.paths[path][method.toLowerCase()].requestBody.content['application/json'];
    return arbitraryFromSchema(schema, { document, hints });
  };

  it('answers bodies of its schema as described, without a failure of ours', async () => {
    const statuses: number[] = [];
    await fuzz(bodies().map(writeJson), async (body) => {
      statuses.push(await send(method, path, url, body));
    });
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(numFuzzRuns / 2);
  });

  it('answers bodies with mistakes as described, too', async () => {
    await fuzz(mutatedJson(bodies()), (body) => send(method, path, url, body));
  });

  it('answers as described, whatever is in the path', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    await fuzz(fc.tuple(text, fc.bigInt({ min: 0n, max: 10n ** 30n })), ([text, index]) => {
      const filled = path.replace('{id}', encodeURIComponent(text)).replace('{index}', `${index}`);
      return send(method, path, filled, '{"messages": [], "role": "user", "content": ""}');
    });
  });
});

describe.each(routes.filter(({ body }) => !body))('$method $path', ({ method, path }) => {
  it('answers as described, whatever is in the path and the query', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    const query = fc.dictionary(fc.constantFrom('limit', 'before', 'search', 'other'), fc.oneof(text, fc.nat(200)));
    await fuzz(fc.tuple(text, query), ([text, query]) => {
      const filled = path.replace('{id}', encodeURIComponent(text));
      const fields = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) fields.set(name, `${value}`);
      return send(method, path, `${filled}?${fields}`);
    });
  });
});

it('is sound after all of it', async () => {
  expect(store.get(id)).toMatchObject({ id });
  expect(await send('GET', '/v1/conversations', '/v1/conversations?limit=100')).toBe(200);
});
