import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { closedPort, startServer } from './__fixtures__/http-server.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { createHttpClient, readBoundedText } from './http-client.ts';
import { settingsOf, type Timeouts } from './settings.ts';

async function clientOf(env: Record<string, string> = {}, timeouts: Partial<Timeouts> = {}) {
  const settings = await settingsOf(isolatedOptions(await temporaryDirectory(), { env, timeouts }));
  const http = await createHttpClient(settings);
  onTestFinished(() => http.close());
  return { http, settings };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('plain http goes through HTTP_PROXY as an absolute address, unless NO_PROXY names the host', async () => {
  const target = await startServer((_request, response) => void response.end('direct'));
  const proxy = await startServer((_request, response) => void response.end('by proxy'));
  // Without a scheme, as people write it.
  const address = proxy.origin.replace('http://', '');
  const proxied = await clientOf({ HTTP_PROXY: address });
  expect(await (await proxied.http.fetch(`${target.origin}/x`)).text()).toBe('by proxy');
  expect(proxy.requests[0]?.path).toBe(`${target.origin}/x`);
  const excluded = await clientOf({ HTTP_PROXY: address, NO_PROXY: 'example.com,127.0.0.1' });
  expect(await (await excluded.http.fetch(target.origin)).text()).toBe('direct');
});

test('https goes through HTTPS_PROXY as a tunnel, with its credentials', async () => {
  let asked = '';
  const proxy = createServer((socket) => {
    socket.once('data', (data) => {
      asked = data.toString('latin1');
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    });
    socket.on('error', () => undefined);
  });
  const port = await listen(proxy);
  const { http } = await clientOf({ HTTPS_PROXY: `http://user:secret@127.0.0.1:${port}` });
  const failure = http.fetch('https://hub.example/x');
  await expect(failure).rejects.toThrow('The proxy refused to connect to hub.example');
  await expect(failure).rejects.not.toThrow('secret');
  expect(asked).toContain('CONNECT hub.example:443 HTTP/1.1');
  expect(asked.toLowerCase()).toContain(`proxy-authorization: basic ${btoa('user:secret')}`.toLowerCase());
});

test('a host that never finishes the handshake is given up on after the connect time-out', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined));
  const port = await listen(silent);
  const { http } = await clientOf({}, { connectMs: 100 });
  await expect(http.fetch(`https://127.0.0.1:${port}/`)).rejects.toMatchObject({
    unreachable: true,
    message: `127.0.0.1:${port} did not accept a connection within 100 ms.`,
  });
});

test('a host that accepts but never answers is given up on after the response time-out', async () => {
  const silent = await startServer(() => undefined);
  const { http } = await clientOf({}, { responseMs: 100 });
  await expect(http.fetch(silent.origin)).rejects.toThrow('sent no answer within 100 ms');
});

test('a body that stops arriving is given up on after the idle time-out', async () => {
  const stalling = await startServer((_request, response) => void response.write('begin'));
  const { http, settings } = await clientOf({}, { idleMs: 100 });
  const response = await http.fetch(stalling.origin);
  await expect(readBoundedText(response, 1000, settings.timeouts)).rejects.toThrow('stopped sending for 100 ms');
});

test('a refused connection names host and port, and nothing of the query', async () => {
  const port = await closedPort();
  const { http } = await clientOf();
  await expect(http.fetch(`http://127.0.0.1:${port}/x?key=secret`)).rejects.toMatchObject({
    message: `127.0.0.1:${port} refused the connection.`,
    details: { url: `http://127.0.0.1:${port}/x` },
  });
});

test('only http and https are fetched', async () => {
  const { http } = await clientOf();
  await expect(http.fetch('file:///etc/passwd')).rejects.toThrow('Only http and https');
  await expect(http.fetch('no address')).rejects.toThrow('Only http and https');
});

test('an aborted request is an AbortError', async () => {
  const silent = await startServer(() => undefined);
  const { http } = await clientOf();
  await expect(http.fetch(silent.origin, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
    code: 'aborted',
  });
  await expect(http.fetch(silent.origin, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
});

test('an answer that is too large is not read to its end', async () => {
  const large = await startServer((_request, response) => void response.end('x'.repeat(1001)));
  const { http, settings } = await clientOf();
  await expect(readBoundedText(await http.fetch(large.origin), 1000, settings.timeouts)).rejects.toThrow(
    'more than 1000 bytes',
  );
});
