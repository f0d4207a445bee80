import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer, tinyLlama } from './__fixtures__/start-server.ts';
import { pageDirectory } from './page.ts';

let server: RunningServer;

beforeAll(async () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  // As every test of a built thing: whoever has only the sources gets it built.
  if (pageDirectory() === undefined) execFileSync('pnpm', ['--filter', '@hearth/chat-page', 'build'], { cwd: root });
  server = await startServer(['-m', `tiny=${tinyLlama}`, '--page', 'on'], { HEARTH_API_KEYS: 'secret' });
});

afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.ended;
});

it('serves the chat page to a browser without a key, and says where', async () => {
  const page = await fetch(`${server.url}/`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self';");
  const html = await page.text();
  const [, script] = /<script type="module" crossorigin src="([^"]+)">/.exec(html) ?? [];
  const [, style] = /<link rel="stylesheet" crossorigin href="([^"]+)">/.exec(html) ?? [];
  for (const path of [script!, style!]) {
    const file = await fetch(server.url + path, { headers: { 'Accept-Encoding': 'br' } });
    expect([path, file.status, file.headers.get('content-encoding')]).toEqual([path, 200, 'br']);
  }
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(401);
  server.child.kill('SIGTERM');
  expect((await server.ended).stdout).toContain(`Listening on ${server.url}\nChat page: ${server.url}/\n`);
});
