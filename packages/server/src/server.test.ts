import { FakeChatTemplate, replyScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordingLogger } from './__fixtures__/recording-logger.ts';
import { type TestServer, testServer } from './__fixtures__/test-server.ts';
import { createServer } from './index.ts';

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

const chat = { messages: [{ role: 'user', content: 'a' }], temperature: 0 };
const secret = "ENOENT: no such file or directory, open '/srv/models/secret.gguf'";

describe('failures', () => {
  it('tells the client that a model could not be loaded, and the log why', async () => {
    const { logger, lines } = recordingLogger();
    const load = async () => Promise.reject(new Error(secret));
    const server = createServer({ models: [{ name: 'broken', load }], logger });
    const headers = { 'Content-Type': 'application/json' };
    const request = new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers,
      body: JSON.stringify(chat),
    });
    const response = await server.fetch(request);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain('secret');
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'server_error', code: 'model_load_failed' } });
    expect(lines.find(({ level }) => level === 'error')?.fields.err).toMatchObject({ message: secret });
    await server.dispose();
  });

  it('tells the client no more of its own mistakes than that there was one', async () => {
    const { logger, lines } = recordingLogger();
    const template = new FakeChatTemplate();
    template.render = async () => Promise.reject(new Error(secret));
    const broken = await testServer({ next: replyScript(4, 'ok', 257), chatTemplate: template }, { logger });
    for (const stream of [false, true]) {
      const { status, body } = await broken.json('/v1/chat/completions', { ...chat, stream });
      expect([status, body.error.code]).toEqual([500, 'internal_error']);
      expect(JSON.stringify(body)).not.toContain('secret');
    }
    const errors = lines.filter(({ level }) => level === 'error');
    expect(errors.map(({ fields }) => (fields.err as Error).message)).toEqual([secret, secret]);
    await broken.server.dispose();
  });
});

describe('requestTimeoutMs', () => {
  it('ends what takes too long: streams with an event, others with 504', async () => {
    const endless = await testServer({ next: () => 97, contextLength: 100_000 }, { requestTimeoutMs: 100 });
    expect(await endless.json('/v1/chat/completions', chat)).toMatchObject({
      status: 504,
      body: { error: { type: 'server_error', code: 'timeout' } },
    });
    const events = await endless.events('/v1/chat/completions', { ...chat, stream: true });
    expect(events.at(-1)).toMatchObject({ error: { code: 'timeout' } });
    await endless.server.dispose();
  });
});

describe('createServer', () => {
  it.each([
    { maxBodyBytes: 0 },
    { requestTimeoutMs: Number.POSITIVE_INFINITY },
    { stallTimeoutMs: 2 ** 31 },
    { idleTimeoutMs: -1 },
    { draftTimeoutMs: 0 },
    { maxChoices: 1.5 },
    { apiKeys: [''] },
    { allowedOrigins: ['example.com'] },
    { allowedHosts: ['http://example.com'] },
    { models: [] },
  ])('refuses %j', (options) => {
    const load = async () => Promise.reject(new Error('not to be loaded'));
    expect(() => createServer({ models: [{ name: 'a', load }], ...options })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
  });
});
