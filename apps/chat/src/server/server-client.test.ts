import { describe, expect, it } from 'vitest';
import { errorAnswer, scriptedFetch } from '../__fixtures__/scripted-fetch.ts';
import { ServerClient } from './server-client.ts';

function memory() {
  const values = new Map<string, string>();
  return {
    getItem: (name: string) => values.get(name) ?? null,
    setItem: (name: string, value: string) => void values.set(name, value),
    removeItem: (name: string) => void values.delete(name),
  };
}

/** Of a server that knows one key. */
function keyedClient(key: string) {
  const { fetch, asked } = scriptedFetch(({ headers }) =>
    headers.get('authorization') === `Bearer ${key}`
      ? Response.json({ ok: true })
      : errorAnswer(401, 'invalid_api_key'),
  );
  const wanted: boolean[] = [];
  const client = new ServerClient({ fetch, keys: memory() });
  client.onKeyWanted = (isWanted) => wanted.push(isWanted);
  return { client, asked, wanted };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

describe('ServerClient', () => {
  it('has requests wait for a key that passes', async () => {
    const { client, asked, wanted } = keyedClient('right');
    const answers = Promise.all([client.json('/v1/models'), client.json('/v1/conversations')]);
    await turn();
    expect(wanted).toContain(true);
    client.useKey('wrong');
    await turn();
    expect(wanted.at(-1)).toBe(true);
    client.useKey('right');
    expect(await answers).toEqual([{ ok: true }, { ok: true }]);
    expect(wanted.at(-1)).toBe(false);
    const numAsked = asked.length;
    await client.json('/v1/models');
    expect(asked.length).toBe(numAsked + 1);
  });

  it('lets a request go that is stopped while it waits for a key', async () => {
    const { client } = keyedClient('right');
    const controller = new AbortController();
    const answer = client.ask('/v1/models', { signal: controller.signal });
    await turn();
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('tells what the server says, and that it is not there', async () => {
    const saying = new ServerClient({ fetch: scriptedFetch(() => errorAnswer(429, 'full', 'Too many.')).fetch });
    await expect(saying.ask('/x')).rejects.toMatchObject({ status: 429, code: 'full', message: 'Too many.' });
    const page = new ServerClient({ fetch: scriptedFetch(() => new Response('<html>', { status: 502 })).fetch });
    await expect(page.ask('/x')).rejects.toMatchObject({
      status: 502,
      message: 'The server answered with status 502.',
    });
    const gone = new ServerClient({ fetch: () => Promise.reject(new TypeError('Failed to fetch')) });
    await expect(gone.ask('/x')).rejects.toMatchObject({ status: 0, message: /cannot be reached/ });
  });
});
