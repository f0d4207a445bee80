import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AbortError } from '@hearth/core';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import { answerFile, type ServerMode, startFileServer } from './__fixtures__/file-server.ts';
import { closedPort, startServer } from './__fixtures__/http-server.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { type DownloadContext, type DownloadRequest, downloadFile } from './download.ts';
import { AccessDeniedError, ChecksumError, DownloadError } from './errors.ts';
import { createHttpClient } from './http-client.ts';
import { settingsOf } from './settings.ts';

// Several socket reads long, and no multiple of a power of two.
const body = sampleBytes(300_001);
const digests = [{ algorithm: 'sha256', hex: sha256Of(body) }] as const;

interface Setup {
  directory: string;
  destination: string;
  context: DownloadContext;
  request: (url: string, rest?: Partial<DownloadRequest>) => DownloadRequest;
}

async function setUp(): Promise<Setup> {
  const directory = await temporaryDirectory();
  const settings = await settingsOf(isolatedOptions(directory, { timeouts: { idleMs: 2_000 } }));
  const http = await createHttpClient(settings);
  onTestFinished(() => http.close());
  const destination = path.join(directory, 'model.gguf');
  return {
    directory,
    destination,
    context: { http, retry: settings.retry, timeouts: settings.timeouts },
    request: (url, rest = {}) => ({ url, destination, sizeBytes: body.length, maxBytes: 1e9, digests, ...rest }),
  };
}

/** Leaves what an interrupted run leaves: the first bytes, and where they came from. */
async function leavePart(destination: string, bytes: Buffer, url: string, rest: object = {}): Promise<void> {
  await writeFile(`${destination}.part`, bytes);
  const origin = { identity: `sha256:${digests[0].hex}`, url, etag: '"v1"', sizeBytes: body.length, ...rest };
  await writeFile(`${destination}.part.json`, JSON.stringify(origin));
}

/** Compares in one go: `toEqual` visits a buffer byte by byte. */
async function expectFile(file: string, expected: Uint8Array): Promise<void> {
  const actual = await readFile(file);
  expect({ length: actual.length, sha256: sha256Of(actual) }).toEqual({
    length: expected.length,
    sha256: sha256Of(expected),
  });
}

// B67: whatever the server does, the final file is byte-equal or does not exist.
const goodModes: ServerMode[] = ['good', 'ignore', 'cut', 'cut+ignore', 'shifted', '416', 'silent-206', 'gzip'];

test.each(goodModes)('a fresh download from a server of kind %s is byte-equal', async (mode) => {
  const { directory, destination, context, request } = await setUp();
  const server = await startFileServer(body, mode);
  const result = await downloadFile(request(`${server.origin}/model.gguf`), context);
  expect(result).toEqual({ sha256: digests[0].hex, sizeBytes: body.length });
  await expectFile(destination, body);
  expect(await readdir(directory)).toEqual(['model.gguf']);
});

test.each(goodModes)('a download resumed from a server of kind %s is byte-equal', async (mode) => {
  const { directory, destination, context, request } = await setUp();
  const server = await startFileServer(body, mode);
  await leavePart(destination, body.subarray(0, 100_000), `${server.origin}/model.gguf`);
  await downloadFile(request(`${server.origin}/model.gguf`), context);
  await expectFile(destination, body);
  expect(await readdir(directory)).toEqual(['model.gguf']);
  expect(server.requests[0]?.headers).toMatchObject({ range: 'bytes=100000-', 'if-range': '"v1"' });
});

test.each(goodModes)(
  'without a known size or checksum, a server of kind %s still gives the whole file',
  async (mode) => {
    const { destination, context, request } = await setUp();
    const server = await startFileServer(body, mode);
    const url = `${server.origin}/model.gguf`;
    await leavePart(destination, body.subarray(0, 100_000), url, { identity: url });
    await downloadFile(request(url, { sizeBytes: undefined, digests: [] }), context);
    await expectFile(destination, body);
  },
);

test('a good server is asked only for what is missing', async () => {
  const { destination, context, request } = await setUp();
  const server = await startFileServer(body, 'good');
  const url = `${server.origin}/model.gguf`;
  await leavePart(destination, body.subarray(0, body.length - 10), url);
  const seen: number[] = [];
  await downloadFile(request(url), { ...context, onBytes: (completed) => seen.push(completed) });
  expect(server.requests).toHaveLength(1);
  expect(seen[0]).toBe(body.length - 10);
  expect(seen.at(-1)).toBe(body.length);
});

test('a part that is already whole is verified without a request', async () => {
  const { destination, context, request } = await setUp();
  await leavePart(destination, body, 'http://127.0.0.1:2/model.gguf');
  await downloadFile(request('http://127.0.0.1:2/model.gguf'), context);
  await expectFile(destination, body);
});

test('a file that was replaced between two answers starts anew, even if the server ignores If-Range', async () => {
  const { destination, context, request } = await setUp();
  const replacement = Buffer.from(body.map((byte) => byte ^ 1));
  let count = 0;
  // The first answer is cut; all later ones are of the new file.
  const server = await startServer((incoming, response) => {
    count++;
    return answerFile(incoming, response, body, count === 1 ? 'cut' : 'replaced', count);
  });
  const url = `${server.origin}/model.gguf`;
  await downloadFile(request(url, { digests: [{ algorithm: 'sha256', hex: sha256Of(replacement) }] }), context);
  await expectFile(destination, replacement);
});

test('a part of another file is dropped, not continued', async () => {
  const { destination, context, request } = await setUp();
  const server = await startFileServer(body, 'good');
  await leavePart(destination, sampleBytes(1000, 2), `${server.origin}/model.gguf`, {
    identity: 'sha256:of another file',
  });
  await downloadFile(request(`${server.origin}/model.gguf`), context);
  expect(server.requests[0]?.headers.range).toBeUndefined();
  await expectFile(destination, body);
});

test('a part of unknown origin or longer than the file is dropped', async () => {
  const { destination, context, request } = await setUp();
  const server = await startFileServer(body, 'good');
  await writeFile(`${destination}.part`, body.subarray(0, 100));
  await downloadFile(request(`${server.origin}/model.gguf`), context);
  await leavePart(destination, sampleBytes(body.length + 1), `${server.origin}/model.gguf`);
  await downloadFile(request(`${server.origin}/model.gguf`), context);
  expect(server.requests.map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
  await expectFile(destination, body);
});

test('a part with damaged bytes costs one download in one piece, not the result', async () => {
  const { destination, context, request } = await setUp();
  const server = await startFileServer(body, 'good');
  const url = `${server.origin}/model.gguf`;
  await leavePart(destination, sampleBytes(100_000, 3), url);
  await downloadFile(request(url), context);
  await expectFile(destination, body);
  expect(server.requests.map(({ headers }) => headers.range)).toEqual(['bytes=100000-', undefined]);
});

test('wrong bytes never reach the final name, and the part is removed', async () => {
  const { directory, context, request } = await setUp();
  const server = await startFileServer(Buffer.from(body.map((byte) => byte ^ 1)), 'good');
  const failure = downloadFile(request(`${server.origin}/model.gguf`), context);
  await expect(failure).rejects.toThrow(ChecksumError);
  await expect(failure).rejects.toMatchObject({
    code: 'checksum_mismatch',
    expected: digests[0].hex,
    actual: sha256Of(body.map((byte) => byte ^ 1)),
  });
  expect(await readdir(directory)).toEqual([]);
});

test('a server that declares another size is refused before a byte is written', async () => {
  const { directory, context, request } = await setUp();
  const server = await startFileServer(body, 'short');
  await expect(downloadFile(request(`${server.origin}/model.gguf`), context)).rejects.toThrow(
    `offers ${body.length + 1} bytes, but the file has ${body.length}`,
  );
  expect(server.requests).toHaveLength(1);
  expect(await readdir(directory)).toEqual(['model.gguf.part']);
});

test('a body shorter than declared is not taken for the file', async () => {
  const { directory, context, request } = await setUp();
  const server = await startFileServer(body, 'short');
  const failure = downloadFile(request(`${server.origin}/model.gguf`, { sizeBytes: undefined, digests: [] }), context);
  await expect(failure).rejects.toThrow(DownloadError);
  expect(await readdir(directory)).not.toContain('model.gguf');
});

test('an endless body is stopped at the known size', async () => {
  const { directory, context, request } = await setUp();
  const server = await startFileServer(body, 'endless');
  let largest = 0;
  const failure = downloadFile(request(`${server.origin}/model.gguf`), {
    ...context,
    onBytes: (completed) => {
      largest = Math.max(largest, completed);
    },
  });
  await expect(failure).rejects.toThrow(`sends more than the ${body.length} bytes`);
  expect(largest).toBeLessThanOrEqual(body.length);
  expect(await readdir(directory)).toEqual([]);
});

test('without a known size, the limit of the caller stops an endless or oversized body', async () => {
  const { context, request } = await setUp();
  const endless = await startFileServer(body, 'endless');
  const limits = { sizeBytes: undefined, digests: [], maxBytes: 400_000 };
  await expect(downloadFile(request(endless.origin, limits), context)).rejects.toThrow('more than the 400000 bytes');
  const oversized = await startFileServer(body, 'good');
  await expect(downloadFile(request(oversized.origin, { ...limits, maxBytes: 1000 }), context)).rejects.toThrow(
    'more than the 1000 bytes',
  );
});

test('an aborted download keeps its part, and the next run continues there', async () => {
  const { destination, context, request } = await setUp();
  const server = await startFileServer(body, 'good');
  const url = `${server.origin}/model.gguf`;
  const controller = new AbortController();
  const failure = downloadFile(request(url), {
    ...context,
    signal: controller.signal,
    onBytes: (completed) => {
      if (completed > 0) controller.abort();
    },
  });
  await expect(failure).rejects.toThrow(AbortError);
  const kept = (await readFile(`${destination}.part`)).length;
  expect(kept).toBeGreaterThan(0);
  expect(kept).toBeLessThan(body.length);
  await downloadFile(request(url), context);
  expect(server.requests[1]?.headers.range).toBe(`bytes=${kept}-`);
  await expectFile(destination, body);
});

test('a server that always cuts is given up on after the configured attempts, and the part is kept', async () => {
  const { directory, context, request } = await setUp();
  const server = await startServer((incoming, response) => answerFile(incoming, response, body, 'cut+ignore', 1));
  const failure = downloadFile(request(server.origin), context);
  await expect(failure).rejects.toThrow('Gave up after 3 attempts');
  expect(server.requests).toHaveLength(3);
  expect(await readdir(directory)).toEqual(['model.gguf.part', 'model.gguf.part.json']);
});

test('trouble inside the server is retried, a missing file is not', async () => {
  const { context, request } = await setUp();
  const flaky = await startServer((incoming, response) => {
    if (flaky.requests.length < 3) response.writeHead(503).end();
    else void answerFile(incoming, response, body, 'good', 1);
  });
  await downloadFile(request(flaky.origin), context);
  expect(flaky.requests).toHaveLength(3);

  const missing = await startServer((_request, response) => void response.writeHead(404).end());
  await expect(downloadFile(request(missing.origin), context)).rejects.toThrow('status 404');
  expect(missing.requests).toHaveLength(1);

  const closed = await startServer((_request, response) => void response.writeHead(403).end());
  await expect(downloadFile(request(closed.origin), context)).rejects.toThrow(AccessDeniedError);
});

test('a host that cannot be reached is not asked twice', async () => {
  const { context, request } = await setUp();
  const failure = downloadFile(request(`http://127.0.0.1:${await closedPort()}/model.gguf`), context);
  await expect(failure).rejects.toMatchObject({ code: 'download_failed', unreachable: true });
});

test('a redirect to another origin works and does not carry the token along', async () => {
  const { destination, context, request } = await setUp();
  const storage = await startFileServer(body, 'good');
  const hub = await startServer((_request, response) => {
    response.writeHead(302, { location: `${storage.origin}/blob?signature=secret` }).end();
  });
  await downloadFile(request(hub.origin, { headers: { authorization: 'Bearer hf_secret' } }), context);
  expect(hub.requests[0]?.headers.authorization).toBe('Bearer hf_secret');
  expect(storage.requests[0]?.headers.authorization).toBeUndefined();
  await expectFile(destination, body);
});

test('an empty file is a file', async () => {
  const { destination, context, request } = await setUp();
  const empty = Buffer.alloc(0);
  await downloadFile(
    request('http://127.0.0.1:2/', { sizeBytes: 0, digests: [{ algorithm: 'sha256', hex: sha256Of(empty) }] }),
    context,
  );
  await expectFile(destination, empty);
});

test('property: wherever and however often the line breaks, the file is byte-equal', async () => {
  const { destination, context, request } = await setUp();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ after: fc.integer({ min: 0, max: body.length }), ignoresRange: fc.boolean() }), {
        maxLength: 4,
      }),
      async (breaks) => {
        let count = 0;
        const server = await startServer((incoming, response) => {
          const next = breaks[count++];
          if (!next) return answerFile(incoming, response, body, 'good', 2);
          const asked = Number(/\d+/.exec(incoming.headers.range ?? '')?.[0] ?? 0);
          const from = next.ignoresRange ? 0 : asked;
          const headers = { etag: '"v1"', 'content-length': body.length - from };
          const contentRange = `bytes ${from}-${body.length - 1}/${body.length}`;
          if (from > 0) response.writeHead(206, { ...headers, 'content-range': contentRange });
          else response.writeHead(200, headers);
          response.write(body.subarray(from, from + next.after), () => incoming.socket.destroy());
        });
        await downloadFile(request(server.origin), { ...context, retry: { attempts: 6, baseDelayMs: 1 } });
        await expectFile(destination, body);
      },
    ),
    { numRuns: 15, seed: 67 },
  );
});
