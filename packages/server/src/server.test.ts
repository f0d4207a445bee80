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

  it('answers an unknown path and a wrong method with a JSON error', async () => {
    for (const response of [await test.send('/v2'), await test.send('/health', {})]) {
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { type: 'not_found_error', code: 'not_found' } });
    }
  });

  it('finds a model by its name, also one with a slash, and no other', async () => {
    expect((await test.json('/v1/models/fake')).status).toBe(200);
    expect(await test.json('/v1/models/org%2Fother')).toMatchObject({
      status: 404,
      body: { error: { param: 'model', code: 'model_not_found' } },
    });
  });
});
