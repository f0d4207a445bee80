import { type CreateFakeModelOptions, createFakeModel } from '@hearth/engine/test';
import { createServer, type HearthServer, type ServerOptions } from '../index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
export type AnyJson = any;

export interface TestServer {
  readonly server: HearthServer;
  /** Sends JSON, or GETs without a body. */
  send(path: string, body?: unknown, init?: RequestInit): Promise<Response>;
  /** The JSON of the answer. */
  json(path: string, body?: unknown): Promise<{ status: number; body: AnyJson }>;
  /** The data of each event of a stream, `[DONE]` as text. */
  events(path: string, body: unknown): Promise<AnyJson[]>;
}

/** A server over one fake model called `fake`: what it writes is a function of its tokens, which are bytes. */
export async function testServer(
  fake: CreateFakeModelOptions,
  options: Partial<ServerOptions> = {},
): Promise<TestServer> {
  const load = async () => {
    const { model } = await createFakeModel(fake);
    return { model, dispose: () => model.dispose() };
  };
  const server = createServer({ models: [{ name: 'fake', load }], ...options });
  const send = (path: string, body?: unknown, init: RequestInit = {}) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...init,
        headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...init.headers },
      }),
    );
  return {
    server,
    send,
    json: async (path, body) => {
      const response = await send(path, body);
      return { status: response.status, body: await response.json() };
    },
    events: async (path, body) => parseEvents(await (await send(path, body)).text()),
  };
}

/** The data of server-sent events: JSON where it is JSON. */
export function parseEvents(text: string): AnyJson[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n');
      return data.startsWith('{') ? JSON.parse(data) : data;
    });
}
