import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type HearthServer, type ServerOptions } from '@hearth/server';
import { type ServerType, serve } from '@hono/node-server';
import { builtPage } from './built-page.ts';

export interface PageServer {
  readonly url: string;
  readonly port: number;
  readonly server: HearthServer;
  /** What was asked of it, in order. */
  readonly requests: readonly { readonly method: string; readonly path: string; readonly body: string }[];
  close(): Promise<void>;
}

export interface PageServerOptions extends ServerOptions {
  readonly port?: number;
  /** Between two events of a stream, in milliseconds: as a slow model writes. Default: none. */
  readonly pace?: number;
  /** Comes before each answer. */
  readonly before?: (request: Request) => Promise<void>;
}

/** A server with the page on a port of its own. */
export async function startPageServer({
  port = 0,
  pace = 0,
  before,
  ...options
}: PageServerOptions): Promise<PageServer> {
  const server = createServer({ ...options, page: await builtPage() });
  const requests: { method: string; path: string; body: string }[] = [];
  const fetch = async (request: Request, bindings: object) => {
    const { pathname, search } = new URL(request.url);
    const entry = { method: request.method, path: pathname + search, body: '' };
    requests.push(entry);
    if (request.body) entry.body = await request.clone().text();
    await before?.(request);
    return paced(await server.fetch(request, bindings), pace);
  };
  const listener: ServerType = serve({ fetch, port, hostname: '127.0.0.1' });
  if (!listener.listening) await once(listener, 'listening');
  const address = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    server,
    requests,
    close: async () => {
      await server.dispose();
      const closed = once(listener, 'close');
      listener.close();
      if ('closeAllConnections' in listener) listener.closeAllConnections();
      await closed;
    },
  };
}

function paced(response: Response, pace: number): Response {
  if (pace === 0 || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const slow = new TransformStream<Uint8Array, Uint8Array>({
    transform: async (chunk, controller) => {
      await delay(pace);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body!.pipeThrough(slow), response);
}
