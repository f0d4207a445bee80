import { replyScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestServer, testServer } from './__fixtures__/test-server.ts';

let test: TestServer;

beforeEach(async () => {
  test = await testServer({ next: replyScript(4, 'ok', 257) });
});

afterEach(() => test.server.dispose());

describe('routes', () => {
  it('answers /health without loading a model', async () => {
    expect(await test.json('/health')).toEqual({ status: 200, body: { status: 'ok' } });
    const { body } = await test.json('/v1/models');
    expect(body.data).toMatchObject([{ id: 'fake', object: 'model', state: 'unloaded' }]);
  });

  it('answers an unknown path with a JSON error', async () => {
    expect(await test.json('/v2')).toMatchObject({
      status: 404,
      body: { error: { type: 'not_found_error', code: 'not_found' } },
    });
  });

  it('answers a wrong method with those that are right', async () => {
    const answers = [await test.send('/health', {}), await test.send('/tokenize', undefined, { method: 'DELETE' })];
    expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, 'GET, HEAD'],
      [405, 'POST'],
    ]);
    expect(await answers[0]!.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  it('answers HEAD as GET, without the body', async () => {
    const response = await test.send('/v1/models', undefined, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    const { status, headers } = await test.send('/tokenize', undefined, { method: 'HEAD' });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('finds a model by its name, also one with a slash, and no other', async () => {
    expect((await test.json('/v1/models/fake')).status).toBe(200);
    expect(await test.json('/v1/models/org%2Fother')).toMatchObject({
      status: 404,
      body: { error: { param: 'model', code: 'model_not_found' } },
    });
  });
});
