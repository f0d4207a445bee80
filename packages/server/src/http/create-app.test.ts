import { replyScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { type TestServer, testServer } from '../__fixtures__/test-server.ts';
import type { ServerOptions } from '../index.ts';

let test: TestServer;

afterEach(() => test.server.dispose());

const origin = 'https://example.com';

async function start(options: Partial<ServerOptions> = {}): Promise<void> {
  test = await testServer({ next: replyScript(4, 'ok', 257) }, options);
}

const preflight = (from: string, path = '/v1/chat/completions') =>
  test.send(path, undefined, {
    method: 'OPTIONS',
    headers: {
      Origin: from,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,x-stainless-os',
    },
  });

describe('guards', () => {
  it('refuses other hosts and origins before anything else, with no permission for the page', async () => {
    await start({ apiKeys: ['key'] });
    const host = await test.send('/health', undefined, { headers: { Host: 'evil.example' } });
    expect([host.status, await host.json()]).toMatchObject([403, { error: { code: 'host_not_allowed' } }]);
    const page = await test.send('/tokenize', { content: 'a' }, { headers: { Origin: 'https://evil.example' } });
    expect([page.status, await page.json()]).toMatchObject([403, { error: { code: 'origin_not_allowed' } }]);
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
    expect((await preflight('https://evil.example')).status).toBe(403);
    for (const { headers } of [host, page]) {
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-request-id': expect.stringMatching(/^[\w-]{20,}$/),
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        'content-type': 'application/json',
      });
    }
  });

  it('does not read bodies that it refuses', async () => {
    await start({ apiKeys: ['key'] });
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024)) });
    const init = { body: endless, duplex: 'half', headers: { 'Content-Type': 'application/json' } };
    expect((await test.send('/tokenize', {}, init as RequestInit)).status).toBe(401);
  });

  it('asks for a key where there is something to protect', async () => {
    await start({ apiKeys: ['key'] });
    for (const path of ['/health', '/ready']) expect((await test.send(path)).status).toBe(200);
    expect(await test.json('/v1/models')).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } });
    const headers = { Authorization: 'Bearer key' };
    expect((await test.send('/v1/models', undefined, { headers })).status).toBe(200);
  });
});

describe('CORS', () => {
  it('answers preflights of allowed origins, without a key (B47)', async () => {
    await start({ apiKeys: ['key'], allowedOrigins: [origin] });
    const response = await preflight(origin);
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      vary: expect.stringContaining('Origin'),
    });
  });

  it('lets pages read every answer, errors too', async () => {
    await start({ apiKeys: ['key'], allowedOrigins: [origin], maxBodyBytes: 100 });
    const headers = { Origin: origin, Authorization: 'Bearer key', 'X-Request-Id': 'abc-1' };
    const post = (body: unknown, more = {}) => test.send('/tokenize', body, { headers: { ...headers, ...more } });
    const answers = [
      await post({ content: 'a' }),
      await post({ content: 'a' }, { Authorization: 'Bearer no' }),
      await post('{'),
      await post({ content: 'a'.repeat(200) }),
      await post('a', { 'Content-Type': 'text/plain' }),
      await test.send('/nothing', undefined, { headers }),
      await test.send('/tokenize', undefined, { headers }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 400, 413, 415, 404, 405]);
    for (const answer of answers) {
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'X-Request-Id,Retry-After',
        vary: 'Origin',
        'x-request-id': 'abc-1',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        'content-type': 'application/json',
      });
    }
  });

  it('says nothing of origins to programs', async () => {
    await start();
    const { headers } = await test.send('/health');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{20,}$/);
  });
});

describe('wrong targets', () => {
  it.each([
    ['/chat/completions', '/v1/chat/completions'],
    ['/v1/v1/models', '/v1/models'],
  ])('says of %s that %s may be meant', async (path, meant) => {
    await start();
    const { status, body } = await test.json(path);
    expect(status).toBe(404);
    expect(body.error.message).toContain(`Perhaps ${meant} is meant`);
  });

  it.each(['/v1/models/%E0%A4%A', '/%00', '/v1/models/%2e%2e%2f', `/${'a'.repeat(5000)}`, '//evil.example', '/?a=%'])(
    'answers %s with a JSON error',
    async (path) => {
      await start();
      const { status, body } = await test.json(path);
      expect([status, body.error.type]).toEqual([404, 'not_found_error']);
      expect(body.error.message.length).toBeLessThan(400);
    },
  );
});
