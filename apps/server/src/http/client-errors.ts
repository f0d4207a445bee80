import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '@hearth/server';

/** What is sent for codes of Node, which say what a client did to its connection. */
const answers: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: answerOf('408 Request Timeout', 'request_timeout', 'The request did not arrive in time.'),
  HPE_HEADER_OVERFLOW: answerOf(
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The headers of the request are too large.',
  ),
};
const malformed = answerOf('400 Bad Request', 'malformed_request', 'What was sent is no HTTP request.');

/**
 * Answers what is no request, or does not arrive in time, with a JSON error, and closes the connection. Answers that are under
 * way on the same connection (pipelining) go first.
 */
export function answerClientErrors(server: Server): void {
  const pending = new WeakMap<Duplex, Set<ServerResponse>>();
  const failed = new WeakSet<Duplex>();
  server.on('request', ({ socket }, response) => {
    const responses = pending.get(socket) ?? new Set();
    pending.set(socket, responses.add(response));
    response.once('close', () => responses.delete(response));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // What follows garbage is garbage, too.
    if (failed.has(socket)) return;
    failed.add(socket);
    const answer = () => refuse(socket, error.code ?? '');
    const last = [...(pending.get(socket) ?? [])].filter(({ req }) => req.complete).at(-1);
    if (last) last.once('close', answer);
    else answer();
  });

  function refuse(socket: Duplex, code: string): void {
    // An answer that has begun cannot be followed by another.
    const hasBegun = [...(pending.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (code === 'ECONNRESET' || !socket.writable || hasBegun) {
      socket.destroy();
      return;
    }
    socket.end(answers[code] ?? malformed);
    // Whoever does not read it is not waited for.
    setTimeout(() => socket.destroy(), 1000).unref();
  }
}

function answerOf(status: string, code: string, message: string): string {
  const body = JSON.stringify(new ApiError(message, { status: Number.parseInt(status, 10), code }));
  const headers = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'];
  return `HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}
