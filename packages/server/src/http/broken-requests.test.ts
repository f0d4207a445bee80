import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { hashScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ListeningServer, listen } from '../__fixtures__/listening-server.ts';

let test: ListeningServer;

beforeEach(async () => {
  test = await listen({ next: hashScript() }, { options: { bodyTimeoutMs: 100, maxBodyBytes: 1000 } });
});

afterEach(() => test.close());

const json = '{"content":"a"}';

/** Sends bytes; all that comes back until the connection closes. */
async function exchange(request: string): Promise<string> {
  const socket = await test.connect();
  socket.write(request);
  return readAll(socket);
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

const post = (headers: string, body: string) =>
  `POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

describe('requests over a socket', () => {
  it.each<[what: string, request: string, status: number, code: string]>([
    ['a body that is shorter than said', post('Content-Length: 500\r\n', json), 408, 'body_timeout'],
    ['a body that is longer than allowed', post('Content-Length: 1001\r\n', json), 413, 'body_too_large'],
    ['a body of 50 MB', post('Content-Length: 52428800\r\n', 'a'.repeat(5000)), 413, 'body_too_large'],
    ['chunks without end', post('Transfer-Encoding: chunked\r\n', `5\r\n{"con\r\n`), 408, 'body_timeout'],
    ['no length at all', post('Connection: close\r\n', ''), 400, 'invalid_body'],
    [
      'another name in the target',
      `GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      403,
      'host_not_allowed',
    ],
    [
      'another name as Host',
      `GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
      403,
      'host_not_allowed',
    ],
  ])('answers %s, and closes', async (_, request, status, code) => {
    const answer = await exchange(request);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`"code":"${code}"`);
  });

  it('answers a body that drips', async () => {
    const socket = await test.connect();
    const answer = readAll(socket);
    socket.write(post('Content-Length: 500\r\n', ''));
    while (!socket.closed) {
      socket.write(' ');
      await delay(10);
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it.each([
    'Content-Length: 5\r\n',
    'Content-Length: five\r\n',
    'Content-Length: -1\r\n',
    'Content-Length: 15\r\nContent-Length: 16\r\n',
    'Content-Length: 15\r\nTransfer-Encoding: chunked\r\n',
  ])('takes no request whose length is not clear: %j', async (headers) => {
    expect(await exchange(post(headers, json))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('serves on after all of that', async () => {
    for (const request of ['\0\0\0', 'GET', post('Content-Length: 500\r\n', '{'), 'GET / HTTP/9.9\r\n\r\n']) {
      const socket = await test.connect();
      socket.write(request);
      await delay(5);
      socket.destroy();
    }
    const response = await fetch(`${test.url}/tokenize`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: json,
    });
    expect(response.status).toBe(200);
  });
});
