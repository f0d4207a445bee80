import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { hashScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { type ListeningServer, listen, until } from './__fixtures__/listening-server.ts';
import { recordingLogger } from './__fixtures__/recording-logger.ts';
import { parseEvents } from './__fixtures__/test-server.ts';

let test: ListeningServer;

afterEach(() => test.close());

/** Ten times what a server may take to notice that a client has gone. */
const noticeLimitMs = 5_000;
const path = '/v1/chat/completions';

/** Long enough to last as long as the test. */
function endless(body: object = {}) {
  return { messages: [{ role: 'user', content: 'a' }], temperature: 0, ...body };
}

const endlessModel = { next: () => 97, contextLength: 50_000, cacheTokens: 250_000 };
const shortChat = endless({ max_tokens: 8 });
const running = () => test.fake.model.stats().requests.numRunning;
const waiting = () => test.fake.model.stats().requests.numWaiting;

/** Leaves, and waits for the work to end. */
async function vanish(socket: Socket): Promise<void> {
  socket.destroy();
  await until(() => test.isAtRest(), noticeLimitMs);
  await until(async () => (await test.numUnderWay()) === 0, noticeLimitMs);
}

async function answers(): Promise<void> {
  const response = await fetch(`${test.url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(shortChat),
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'aaaaaaaa' } }] });
}

describe('a client that goes', () => {
  it('ends its work when it waits for the whole answer', async () => {
    test = await listen(endlessModel);
    const socket = await test.post(path, endless());
    await until(() => running() === 1);
    await vanish(socket);
    await answers();
  });

  it('ends its work in a stream', async () => {
    test = await listen(endlessModel);
    const socket = await test.post(path, endless({ stream: true, n: 3 }));
    await once(socket, 'data');
    expect(running()).toBe(3);
    await vanish(socket);
    await answers();
  });

  it('ends its work while its prompt is computed', async () => {
    test = await listen({ ...endlessModel, maxTokensPerStep: 16 });
    let numSteps = 0;
    test.fake.backend.beforeStep = () => {
      numSteps++;
      return delay(10);
    };
    const content = 'a'.repeat(40_000);
    const socket = await test.post(path, endless({ messages: [{ role: 'user', content }], stream: true }));
    await until(() => numSteps > 2);
    await vanish(socket);
    // All of them would be 2,500 steps.
    expect(numSteps).toBeLessThan(1_000);
    await answers();
  });

  it('leaves the queue, and those in it go on', async () => {
    test = await listen(endlessModel);
    const sockets = await Promise.all(Array.from({ length: 4 }, () => test.post(path, endless())));
    await until(() => running() === 4);
    const queued = await test.post(path, endless());
    await until(() => waiting() === 1);
    queued.destroy();
    await until(() => waiting() === 0, noticeLimitMs);
    expect(running()).toBe(4);
    const next = answers();
    await until(() => waiting() === 1);
    await Promise.all(sockets.map(vanish));
    await next;
  });

  it('does not wait for a model any longer, which is loaded all the same', async () => {
    let load = () => {};
    const loaded = new Promise<void>((resolve) => {
      load = resolve;
    });
    test = await listen(endlessModel, { beforeLoad: () => loaded });
    const socket = await test.post(path, endless());
    await until(async () => (await test.numUnderWay()) === 1);
    await vanish(socket);
    load();
    await answers();
  });

  it('is no failure of the server when it goes within its body', async () => {
    const { logger, lines } = recordingLogger();
    test = await listen(endlessModel, { options: { logger } });
    const socket = await test.post(path, '{"messages":', { 'Content-Length': '1000' });
    await until(async () => (await test.numUnderWay()) === 1);
    await vanish(socket);
    const ended = lines.filter(({ fields }) => fields.route === path);
    expect(ended.map(({ level, fields }) => [level, fields.status])).toEqual([['info', 499]]);
  });

  it('can be one of 200 that all go at once', async () => {
    test = await listen(endlessModel);
    const sockets = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        test.post(path, endless({ stream: index % 2 === 0, user: `${index}` })),
      ),
    );
    await until(() => running() === 4 && waiting() > 100);
    for (const socket of sockets) socket.destroy();
    await answers();
    await until(() => test.isAtRest(), noticeLimitMs);
    expect(await test.numUnderWay()).toBe(0);
  });
});

describe('a message that is being written', () => {
  const draft = (conversation: string, length: number) => ({
    conversation,
    messages: [],
    draft: `${'a'.repeat(length)} `,
  });

  it('is computed no longer when its client has gone, and 20 of them leave nothing behind (B39)', async () => {
    test = await listen({ ...endlessModel, maxTokensPerStep: 16 }, { options: { draftTimeoutMs: 300 } });
    let numSteps = 0;
    test.fake.backend.beforeStep = () => {
      numSteps++;
      return delay(5);
    };
    for (let i = 0; i < 20; i++) {
      const socket = await test.post('/v1/compose', draft(`c${i % 7}`, 20_000));
      const before = numSteps;
      await until(() => numSteps > before + 1);
      socket.destroy();
      // As fast as drafts are given up.
      await delay(50);
    }
    await until(() => running() + waiting() === 0, noticeLimitMs);
    // One of them alone would be 1,250 steps.
    expect(numSteps).toBeLessThan(1_250);
    await until(() => test.isAtRest(), noticeLimitMs);
    await answers();
  });

  it('is no longer computed when a newer one has come, though its client waits', async () => {
    test = await listen({ ...endlessModel, maxTokensPerStep: 16 });
    test.fake.backend.beforeStep = () => delay(5);
    const older = await test.post('/v1/compose', draft('c', 40_000));
    await until(() => running() === 1);
    const newer = await test.post('/v1/compose', draft('c', 3));
    const [[first], [second]] = await Promise.all([once(older, 'data'), once(newer, 'data')]);
    expect(String(first)).toContain('"superseded":true');
    expect(String(second)).toContain('"superseded":false');
  });
});

describe('a client that reads slowly', () => {
  it('gets all of it', async () => {
    test = await listen({ next: hashScript(26), contextLength: 1024 });
    const body = endless({ stream: true, max_tokens: 400, logprobs: true, top_logprobs: 20 });
    const response = await fetch(`${test.url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body!) {
      chunks.push(chunk);
      await delay(1);
    }
    const events = parseEvents(Buffer.concat(chunks).toString());
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.filter((event) => event.choices?.[0]?.logprobs?.content)).toHaveLength(400);
  });

  it('holds no blocks of the cache when its text is done', async () => {
    test = await listen({ next: () => 97, contextLength: 1024 });
    const controller = new AbortController();
    const response = await fetch(`${test.url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      // More than what lies between the two holds.
      body: JSON.stringify(endless({ stream: true, max_tokens: 900, n: 8, logprobs: true, top_logprobs: 20 })),
      signal: controller.signal,
    });
    await until(() => test.isAtRest());
    expect(await test.numUnderWay()).toBe(1);
    controller.abort();
    await expect(response.text()).rejects.toThrow();
    await until(async () => (await test.numUnderWay()) === 0, noticeLimitMs);
  });

  it('is cut off when it stops, while others are served', async () => {
    test = await listen(endlessModel, { options: { stallTimeoutMs: 300 } });
    // Fills the buffers between the two within a second.
    const body = endless({ stream: true, n: 2, logprobs: true, top_logprobs: 20 });
    const socket = await test.post(path, body);
    await once(socket, 'data');
    socket.pause();
    const closed = once(socket, 'close');
    await answers();
    await until(() => test.isAtRest());
    await answers();
    socket.resume();
    await closed;
  });
});
