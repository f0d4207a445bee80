import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { startServer, type TestServer } from './http-server.ts';

/**
 * How a file server treats downloads:
 * `good`: as RFC 9110 says, If-Range included; `ignore`: answers 200 with everything to a Range; `cut`: drops the first GET
 * half way; `cut+ignore`: both; `shifted`: answers a Range with bytes from 100 earlier on; `short`: declares one byte too
 * much and drops the connection at the end; `replaced`: another ETag and other bytes from the second GET on, If-Range
 * ignored; `416`: refuses every Range; `silent-206`: a part without Content-Range; `endless`: chunked, never stops;
 * `gzip`: compresses although told not to.
 */
export type ServerMode =
  | 'good'
  | 'ignore'
  | 'cut'
  | 'cut+ignore'
  | 'shifted'
  | 'short'
  | 'replaced'
  | '416'
  | 'silent-206'
  | 'endless'
  | 'gzip';

/**
 * From the last byte to the end of a connection that is dropped. A client loses what it has not read by then, which it may
 * take a while to do on a busy machine.
 */
const dropAfterMs = 250;

/** Answers one GET of `body` in the given mode; `count` is its number, from 1. */
export async function answerFile(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  mode: ServerMode,
  count: number,
): Promise<void> {
  const isReplaced = mode === 'replaced' && count > 1;
  const bytes = isReplaced ? body.map((byte) => byte ^ 1) : body;
  const etag = isReplaced ? '"v2"' : '"v1"';
  const head = { etag, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const from = range ? Number(range[1]) : 0;
  const ifRange = request.headers['if-range'];
  const honoured = range && !(mode === 'good' && ifRange !== undefined && ifRange !== etag);

  if (mode === 'endless') {
    response.writeHead(200, head);
    const forever = Readable.from(
      (function* () {
        for (;;) yield body;
      })(),
    );
    await pipeline(forever, response).catch(() => undefined);
    return;
  }
  if (mode === 'gzip') {
    response.writeHead(200, { ...head, 'content-encoding': 'gzip' }).end(gzipSync(bytes));
    return;
  }
  if (honoured && (mode === '416' || from >= bytes.length)) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  if (honoured && mode === 'silent-206') {
    response.writeHead(206, head).end(bytes.subarray(from));
    return;
  }
  if (honoured && !mode.includes('ignore')) {
    const start = mode === 'shifted' ? Math.max(0, from - 100) : from;
    const sent = bytes.subarray(start);
    const contentRange = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
    response.writeHead(206, { ...head, 'content-range': contentRange, 'content-length': sent.length }).end(sent);
    return;
  }
  const declared = bytes.length + (mode === 'short' ? 1 : 0);
  response.writeHead(200, { ...head, 'content-length': declared });
  const drop = () => setTimeout(() => request.socket.destroy(), dropAfterMs);
  if (mode.includes('cut') && count === 1) {
    response.write(bytes.subarray(0, bytes.length >> 1), drop);
    return;
  }
  if (mode === 'short') response.write(bytes, drop);
  else response.end(bytes);
}

/** Serves one file at every path. */
export function startFileServer(body: Buffer, mode: ServerMode): Promise<TestServer> {
  let count = 0;
  return startServer((request, response) => answerFile(request, response, body, mode, ++count));
}
