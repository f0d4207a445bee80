import { createFakeModel, hashScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { parseEvents, type TestServer, testServer } from './__fixtures__/test-server.ts';
import { createServer } from './index.ts';

let test: TestServer;

afterEach(() => test.server.dispose());

const chat = (body: object = {}) => ({ messages: [{ role: 'user', content: 'a' }], temperature: 0, ...body });
const path = '/v1/chat/completions';

describe('drain', () => {
  it('refuses new requests, lets those under way end, and says so to who watches', async () => {
    test = await testServer({ next: hashScript() });
    const running = test.send(path, chat({ stream: true, max_tokens: 30 }));
    const response = await running;
    const draining = test.server.drain();
    const refused = await test.send(path, chat());
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'shutting_down' } }]);
    expect(Object.fromEntries(refused.headers)).toMatchObject({ 'retry-after': '5', connection: 'close' });
    expect((await test.json('/ready')).status).toBe(503);
    expect((await test.json('/health')).status).toBe(200);
    expect((await test.send('/metrics')).status).toBe(200);
    const events = parseEvents(await response.text());
    expect(events.at(-1)).toBe('[DONE]');
    await draining;
  });

  it('ends what is left after its limit: streams with an event, others with 503', async () => {
    test = await testServer({ next: () => 97, contextLength: 100_000 });
    const stream = await test.send(path, chat({ stream: true }));
    const plain = test.json(path, chat());
    const unread = await test.send(path, chat({ stream: true }));
    await test.server.drain({ timeoutMs: 20 });
    const [last] = parseEvents(await stream.text()).slice(-1);
    expect(last).toMatchObject({ error: { type: 'server_error', code: 'shutting_down' } });
    expect(await plain).toMatchObject({ status: 503, body: { error: { code: 'shutting_down' } } });
    expect(parseEvents(await unread.text()).at(-1)).toMatchObject({ error: { code: 'shutting_down' } });
  });

  it('resolves at once when nothing is under way', async () => {
    test = await testServer({ next: hashScript() });
    await test.server.drain();
    await test.server.drain({ timeoutMs: 0 });
  });
});

describe('dispose', () => {
  it('ends what runs', async () => {
    test = await testServer({ next: () => 97, contextLength: 100_000 });
    const stream = await test.send(path, chat({ stream: true }));
    const plain = test.json(path, chat());
    await test.server.dispose();
    expect(parseEvents(await stream.text()).at(-1)).toMatchObject({ error: { code: 'shutting_down' } });
    expect(await plain).toMatchObject({ status: 503 });
    expect(await test.json(path, chat())).toMatchObject({ status: 503, body: { error: { code: 'shutting_down' } } });
  });
});

describe('GET /ready', () => {
  it('says no while models are loaded ahead', async () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const load = async () => {
      await opened;
      const { model } = await createFakeModel({ next: hashScript() });
      return { model, dispose: () => model.dispose() };
    };
    const server = createServer({ models: [{ name: 'slow', load }] });
    test = { ...(await testServer({ next: hashScript() })), server };
    const ready = async () => (await server.fetch(new Request('http://localhost/ready'))).status;
    expect(await ready()).toBe(200);
    const preloading = server.preload('slow');
    expect(await ready()).toBe(503);
    open();
    await preloading;
    expect(await ready()).toBe(200);
    await expect(server.preload('absent')).rejects.toMatchObject({ status: 404 });
    expect(await ready()).toBe(200);
  });
});
