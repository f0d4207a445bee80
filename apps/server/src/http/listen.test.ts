import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../__fixtures__/self-signed.ts';
import { type Listener, type ListenOptions, listen } from './listen.ts';

const listeners: Listener[] = [];

afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

/** Answers with the method and the body. */
async function echo(request: Request): Promise<Response> {
  return new Response(`${request.method} ${await request.text()}`);
}

async function open(options: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await listen({
    fetch: echo,
    host: '127.0.0.1',
    port: 0,
    requestTimeoutMs: 300,
    onError: () => {},
    ...options,
  });
  listeners.push(listener);
  return listener;
}

function portOf({ url }: Listener): number {
  return Number(new URL(url).port);
}

/** All that the server sends until it closes the connection. */
async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A server that has closed refuses what is still being sent.
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

async function send(listener: Listener, text: string): Promise<string> {
  const socket = connect(portOf(listener), '127.0.0.1');
  socket.write(text);
  return received(socket);
}

describe('listen', () => {
  it('takes a free port and says which', async () => {
    const listener = await open();
    expect(listener.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const response = await fetch(listener.url, { method: 'POST', body: 'abc' });
    expect(await response.text()).toBe('POST abc');
  });

  it.each([
    ['::1', /^http:\/\/\[::1\]:\d+$/],
    ['localhost', /^http:\/\/localhost:\d+$/],
  ])('names the address %s as a URL does', async (host, url) => {
    const listener = await open({ host });
    expect(listener.url).toMatch(url);
    expect((await fetch(listener.url)).status).toBe(200);
  });

  it('says in a sentence why an address cannot be used', async () => {
    const port = portOf(await open());
    await expect(open({ port })).rejects.toThrow(`cannot listen on port ${port} of 127.0.0.1: something else does.`);
    await expect(open({ host: '192.0.2.1' })).rejects.toThrow(/that is no address of this machine/);
  });

  it('answers HTTP/1.0, which knows no Host, and closes the connection', async () => {
    expect(await send(await open(), 'GET /ready HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\nGET $/s);
  });

  it('speaks TLS with a certificate', async () => {
    const { certificate, key } = selfSigned();
    const tls = { cert: Buffer.from(certificate), key: Buffer.from(key) };
    const listener = await open({ host: 'localhost', tls });
    expect(listener.url).toMatch(/^https:/);
    const [response] = await once(request(listener.url, { ca: certificate }).end(), 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
    await expect(once(request(listener.url).end(), 'response')).rejects.toThrow(/self-signed certificate/);
  });

  it('closes connections that are kept for a next request, and lets an answer that is being sent end', async () => {
    let finish = (_: string) => {};
    const text = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const listener = await open({ fetch: async () => new Response(await text) });
    const answer = fetch(listener.url);
    const idle = connect(portOf(listener), '127.0.0.1');
    const nothing = received(idle);
    await once(idle, 'connect');
    const closed = listener.close();
    finish('done');
    expect(await (await answer).text()).toBe('done');
    await closed;
    expect(await nothing).toBe('');
  });
});

describe('a client that sends no request', () => {
  const error = (status: number) =>
    new RegExp(`^HTTP/1\\.1 ${status} .*\r\n\r\n{"error":{"message":"[^"]+\\.","type":`, 's');

  it('is told so in JSON, after the answers to what came before it on the connection', async () => {
    const listener = await open();
    expect(await send(listener, 'GARBAGE\r\n\r\n')).toMatch(error(400));
    const pipelined = await send(listener, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGARBAGE\r\n\r\nMORE\r\n\r\n');
    expect(pipelined).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(pipelined.slice(pipelined.indexOf('GET '))).toMatch(/^GET HTTP\/1\.1 400 .*"error"/s);
    expect(pipelined.match(/HTTP\/1\.1/g)).toHaveLength(2);
  });

  it.each([
    ['a body that is shorter than it said', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{}'],
    [
      'a chunked body without an end',
      'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
    ],
    ['headers without an end', 'GET / HTTP/1.1\r\nHost: localhost\r\n'],
  ])('B46: %s gets a 408 and is closed', async (_, text) => {
    expect(await send(await open(), text)).toMatch(error(408));
  });

  it('B46: is not waited for because it sends a byte now and then', async () => {
    const socket = connect(portOf(await open()), '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n');
    const timer = setInterval(() => socket.write(' '), 20);
    expect(await received(socket).finally(() => clearInterval(timer))).toMatch(error(408));
  });

  it.each([
    ['headers without measure', `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n\r\n{}', 400],
  ])('%s is refused', async (_, text, status) => {
    expect(await send(await open(), text)).toMatch(error(status));
  });

  it.each(['a b', 'localhost/x'])('the Host %j is refused', async (host) => {
    const answer = await send(await open(), `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(error(400));
  });

  it('gets nothing after an answer that has begun', async () => {
    const listener = await open({
      fetch: async () =>
        new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('begun')) })),
    });
    const socket = connect(portOf(listener), '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{}');
    const answer = await received(socket);
    expect(answer).toMatch(/begun/);
    expect(answer).not.toMatch(/error/);
  });
});
