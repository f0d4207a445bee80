import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type RunningServer, startServer, tinyLlama } from './__fixtures__/start-server.ts';

const running: RunningServer[] = [];

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

async function start(...args: string[]): Promise<RunningServer> {
  const server = await startServer(['-m', tinyLlama, '--log-level', 'warn', ...args]);
  running.push(server);
  return server;
}

/** A stream of so many tokens that has begun; `rest` reads it to its end. */
async function startStream({ post }: RunningServer, maxTokens: number) {
  const messages = [{ role: 'user', content: 'abc' }];
  const body = { messages, max_tokens: maxTokens, stream: true, ignore_eos: true };
  const response = await post('/v1/chat/completions', body);
  const reader = response.body!.getReader();
  const chunks = [(await reader.read()).value!];
  return {
    async rest(): Promise<string> {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return Buffer.concat(chunks).toString();
        chunks.push(value);
      }
    },
  };
}

/** Asks until the answer is no longer what it was; refuses to wait for ever, as the test's own time does. */
async function statusOnceChanged({ url }: RunningServer): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${url}/v1/models`);
    if (status !== 200) return status;
    await sleep(20);
  }
}

describe('a server that is asked to end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'at %s lets a stream end, refuses what is new, and exits with 0',
    async (name) => {
      const server = await start('--drain-timeout', '600');
      const stream = await startStream(server, 300);
      server.child.kill(name);
      expect(await statusOnceChanged(server)).toBe(503);
      const text = (await stream.rest()).slice(-600);
      expect(text).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s);
      expect(await server.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    },
  );

  it('cuts what runs longer than the limit, and exits with 0', async () => {
    const server = await start('--drain-timeout', '0.2', '--context', '4096');
    const stream = await startStream(server, 4000);
    server.child.kill('SIGTERM');
    const text = (await stream.rest()).slice(-600);
    expect(text).toMatch(/data: \{"error":.*\n\n$/);
    expect(text).not.toMatch(/\[DONE\]/);
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  });

  it('ends at once when it is asked twice', async () => {
    const server = await start('--drain-timeout', '600', '--context', '4096');
    const stream = await startStream(server, 4000);
    server.child.kill('SIGTERM');
    expect(await statusOnceChanged(server)).toBe(503);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 143, signal: null });
    await expect(stream.rest()).rejects.toThrow();
  });

  it('ends while it loads', async () => {
    const server = await start();
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('ends quietly when nobody reads what it says', async () => {
    const server = await start('--log-level', 'info');
    server.child.stderr!.destroy();
    await fetch(`${server.url}/v1/models`).catch(() => {});
    const [code] = await once(server.child, 'exit');
    expect(code).toBe(0);
  });
});
