import type { Model } from '@hearth/engine';
import { createFakeModel, hashScript } from '@hearth/engine/test';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerChecker } from './__fixtures__/answer-checker.ts';
import { arbitraryFromSchema } from './__fixtures__/arbitrary-from-schema.ts';
import { fuzz, numFuzzRuns } from './__fixtures__/fuzz.ts';
import { parseMetrics, sampleValue } from './__fixtures__/metrics-text.ts';
import { mutatedJson, writeJson } from './__fixtures__/mutated-json.ts';
import { requestHints, withoutContradictions } from './__fixtures__/request-hints.ts';
import { loadTemplate } from './__fixtures__/scripted-chat.ts';
import type { AnyJson } from './__fixtures__/test-server.ts';
import { createServer, type HearthServer } from './index.ts';
import { openApiPath } from './openapi/open-api-path.ts';
import { allRoutes } from './routes/all-routes.ts';

let server: HearthServer;
let model: Model;
let document: AnyJson;
let checker: AnswerChecker;

beforeAll(async () => {
  const load = async () => {
    const chatTemplate = await loadTemplate('qwenLike');
    const limits = { contextLength: 256, cacheTokens: 1024, maxTokensPerStep: 256 };
    ({ model } = await createFakeModel({ next: hashScript(260), chatTemplate, ...limits }));
    return { model, dispose: () => model.dispose() };
  };
  // Drafts hold blocks as long as they are kept.
  server = createServer({ models: [{ name: 'fake', load }], draftTimeoutMs: 50 });
  await server.preload('fake');
  document = await (await server.fetch(new Request('http://localhost/openapi.json'))).json();
  checker = new AnswerChecker(document);
});

afterAll(() => server.dispose());

async function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  contentType = 'application/json',
): Promise<number> {
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    body,
    headers: { 'Content-Type': contentType },
  });
  const response = await server.fetch(request);
  await checker.check('POST', path, response);
  return response.status;
}

describe.each(allRoutes.filter(({ body }) => body))('POST $path', ({ path }) => {
  const bodies = () => {
    const { schema } = document.paths[path].post.requestBody.content['application/json'];
    return arbitraryFromSchema(schema, { document, hints: requestHints });
  };

  it('answers bodies of its schema as described, without a failure of ours', async () => {
    const statuses: number[] = [];
    const sound = fc.oneof({ weight: 4, arbitrary: bodies().map(withoutContradictions) }, bodies());
    await fuzz(sound.map(writeJson), async (body) => {
      statuses.push(await post(path, body));
    });
    // Else most of it was refused before it came to anything.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(numFuzzRuns / 10);
  });

  it('answers bodies with mistakes as described, too', async () => {
    await fuzz(mutatedJson(bodies()), (body) => post(path, body));
  });

  it('answers what is no JSON of its kind', async () => {
    const bytes = fc.uint8Array({ maxLength: 40 }).map((bytes) => Uint8Array.from(bytes));
    const cut = fc
      .tuple(bodies().map(writeJson), fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([body, part]) => body.slice(0, body.length * part));
    const values = fc.jsonValue().map((value) => JSON.stringify(value));
    await fuzz(fc.oneof(bytes, cut, values), (body) => post(path, body));
    await fuzz(fc.oneof(fc.constantFrom('text/plain', 'application/x-www-form-urlencoded', '*/*')), (type) =>
      post(path, '{}', type),
    );
  });
});

describe.each(allRoutes.filter(({ body }) => !body))('GET $path', ({ path }) => {
  it('answers as described, whatever is in the path', async () => {
    const described = openApiPath(path);
    await fuzz(fc.string({ unit: 'grapheme', minLength: 1 }), async (text) => {
      const filled = described.replace(/\{\w+\}/g, () => encodeURIComponent(text));
      await checker.check('GET', described, await server.fetch(new Request(`http://localhost${filled}`)));
    });
  });
});

describe('after all of it', () => {
  it('nothing is under way, nothing has leaked, and answers are right', async () => {
    // Sessions give their blocks back a moment after their answers have ended, and drafts when they expire.
    await expect.poll(() => model.stats().cache.numOwnedBlocks).toBe(0);
    expect(model.stats().requests).toMatchObject({ numRunning: 0, numWaiting: 0 });
    model.checkIntegrity();
    const samples = parseMetrics(await (await server.fetch(new Request('http://localhost/metrics'))).text());
    // The one that asks.
    expect(sampleValue(samples, 'hearth_requests_under_way')).toBe(1);
    const body = JSON.stringify({ content: 'abc', add_special_tokens: false });
    const headers = { 'Content-Type': 'application/json' };
    const request = new Request('http://localhost/tokenize', { method: 'POST', body, headers });
    expect(await (await server.fetch(request)).json()).toMatchObject({ tokens: [97, 98, 99] });
  });
});
