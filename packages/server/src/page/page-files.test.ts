import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { hashScript } from '@hearth/engine/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestServer, testServer } from '../__fixtures__/test-server.ts';
import { readPageFiles } from './page-files.ts';

const html = '<!doctype html><title>Page</title>';
const script = 'console.log("page");'.repeat(20);
let directory: string;
let test: TestServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-page-'));
  await mkdir(join(directory, 'assets'));
  await writeFile(join(directory, 'index.html'), html);
  await writeFile(join(directory, 'icon.svg'), '<svg/>');
  await writeFile(join(directory, 'assets/index-1a2b.js'), script);
  await writeFile(join(directory, 'assets/index-1a2b.js.br'), brotliCompressSync(script));
  await writeFile(join(directory, 'assets/index-1a2b.js.gz'), gzipSync(script));
});

afterAll(() => rm(directory, { recursive: true }));

beforeEach(async () => {
  test = await testServer({ next: hashScript() }, { page: await readPageFiles(directory), apiKeys: ['secret'] });
});

afterEach(() => test.server.dispose());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  test.send(path, undefined, { headers, method });

describe('files of a page', () => {
  it('are there without a key, with their types', async () => {
    const page = await get('/');
    expect([page.status, page.headers.get('content-type'), await page.text()]).toEqual([
      200,
      'text/html; charset=utf-8',
      html,
    ]);
    const icon = await get('/icon.svg');
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await get('/v1/models')).status).toBe(401);
  });

  it('come with a policy that allows nothing from elsewhere and nothing inline', async () => {
    for (const path of ['/', '/icon.svg', '/assets/index-1a2b.js']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy')!;
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toContain('unsafe');
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  it.each<[accepted: string, encoding: string | null]>([
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR ; q=1.0', 'br'],
    ['', null],
    ['brotli, x-gzip', null],
  ])('are compressed for whoever accepts %j', async (accepted, encoding) => {
    const response = await get('/assets/index-1a2b.js', { 'Accept-Encoding': accepted });
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('vary')).toContain('Accept-Encoding');
    const bytes = Buffer.from(await response.arrayBuffer());
    const decode = { br: brotliDecompressSync, gzip: gunzipSync, null: (bytes: Buffer) => bytes }[`${encoding}`]!;
    expect(decode(bytes).toString()).toBe(script);
  });

  it('are kept by browsers: for good where their name says what is in them, else until they change', async () => {
    expect((await get('/assets/index-1a2b.js')).headers.get('cache-control')).toContain('immutable');
    const first = await get('/');
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const again = await get('/', { 'If-None-Match': `"other", ${first.headers.get('etag')}` });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get('/', { 'If-None-Match': '"other"' })).status).toBe(200);
  });

  it('are read only', async () => {
    const head = await get('/', {}, 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await get('/', {}, 'POST')).status).toBe(404);
  });

  it.each([
    '/index.html',
    '/assets/',
    '/assets/index-1a2b.js.br',
    '/../page-files.ts',
    '/%2e%2e/secret',
    '/assets%2findex-1a2b.js',
  ])('are those that there are, and not %s', async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  it('are only for those who ask the server under its name', async () => {
    const response = await test.server.fetch(new Request('http://evil.example/'));
    expect(response.status).toBe(403);
  });

  it('count as the page among the requests', async () => {
    await get('/');
    await get('/nothing');
    const metrics = await (await get('/metrics', { Authorization: 'Bearer secret' })).text();
    expect(metrics).toContain('hearth_requests_total{route="(page)",method="GET",status="200"} 1');
    expect(metrics).toContain('hearth_requests_total{route="(none)",method="GET",status="404"} 1');
  });
});
