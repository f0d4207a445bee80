import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type CreateFakeModelOptions, createFakeModel } from '@hearth/engine/test';
import { type ServerType, serve } from '@hono/node-server';
import { createServer, type HearthServer, type ServerOptions } from '../index.ts';
import { parseMetrics, sampleValue } from './metrics-text.ts';

type FakeModel = Awaited<ReturnType<typeof createFakeModel>>;

/** A server on a port of its own, over a fake model that is at hand, with clients that write and read bytes. */
export interface ListeningServer {
  readonly fake: FakeModel;
  readonly server: HearthServer;
  readonly url: string;
  /** A connection over which a request with this JSON was sent, or a text as it is. */
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Socket>;
  connect(): Promise<Socket>;
  /** Requests whose answers are not over, without the one that asks. */
  numUnderWay(): Promise<number>;
  /** Nothing runs, waits, or holds blocks of the cache. */
  isAtRest(): boolean;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly options?: Partial<ServerOptions>;
  /** The model is there when this has resolved. */
  readonly beforeLoad?: () => Promise<void>;
}

export async function listen(
  fakeOptions: CreateFakeModelOptions,
  { options, beforeLoad }: ListenOptions = {},
): Promise<ListeningServer> {
  const fake = await createFakeModel(fakeOptions);
  const load = async () => {
    await beforeLoad?.();
    return { model: fake.model, dispose: () => fake.model.dispose() };
  };
  const server = createServer({ models: [{ name: 'fake', load }], ...options });
  const listener: ServerType = serve({ fetch: server.fetch, port: 0, hostname: '127.0.0.1' });
  if (!listener.listening) await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  const open = async () => {
    const socket = connect(port, '127.0.0.1');
    // A server that cuts a connection is what some tests are about.
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return {
    fake,
    server,
    url,
    connect: open,
    post: async (path, body, headers = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const lines = Object.entries({
        Host: `127.0.0.1:${port}`,
        'Content-Type': 'application/json',
        'Content-Length': `${Buffer.byteLength(text)}`,
        ...headers,
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      const socket = await open();
      socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
      return socket;
    },
    numUnderWay: async () => {
      const metrics = parseMetrics(await (await fetch(`${url}/metrics`)).text());
      return sampleValue(metrics, 'hearth_requests_under_way')! - 1;
    },
    isAtRest: () => {
      const { requests, cache } = fake.model.stats();
      fake.model.checkIntegrity();
      return requests.numRunning + requests.numWaiting + cache.numOwnedBlocks === 0;
    },
    close: async () => {
      await server.dispose();
      const closed = once(listener, 'close');
      listener.close();
      if ('closeAllConnections' in listener) listener.closeAllConnections();
      await closed;
    },
  };
}

/** Waits until it is so. */
export async function until(isSo: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > limitMs) throw new Error(`It was not so after ${limitMs} ms: ${isSo}`);
    await delay(2);
  }
}
