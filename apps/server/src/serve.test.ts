import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { selfSigned } from './__fixtures__/self-signed.ts';
import { type RunningServer, runServer, startServer, tinyLlama } from './__fixtures__/start-server.ts';

let directory: string;
const running: RunningServer[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-serve-'));
});

afterAll(() => rm(directory, { recursive: true }));

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

async function start(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<RunningServer> {
  const server = await startServer(args, env);
  running.push(server);
  return server;
}

async function write(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

/** The state of each model, by name. */
async function statesOf({ url }: RunningServer): Promise<Record<string, string>> {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string; state: string }[] };
  return Object.fromEntries(data.map(({ id, state }) => [id, state]));
}

async function untilState(server: RunningServer, name: string, state: string): Promise<void> {
  while ((await statesOf(server))[name] !== state) await sleep(20);
}

describe('hearth-server', () => {
  it('says where it listens, what it serves and with how many threads, and ends with 0 when it is asked to', async () => {
    const server = await start(['-m', `tiny=${tinyLlama}`]);
    const { url, child, ended } = server;
    await untilState(server, 'tiny', 'loaded');
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' });
    child.kill('SIGTERM');
    const { code, signal, stdout, stderr } = await ended;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(stdout).toBe(`Listening on ${url}\nModel: tiny\n1 thread, reference\n`);
    // Every line of the log is JSON.
    const messages = stderr
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).msg);
    expect(messages).toContain('model loaded');
  });

  it('takes its settings from a file, variables and flags', async () => {
    const file = await write(
      'hearth.json',
      JSON.stringify({ models: [{ name: 'a', source: tinyLlama, aliases: ['b'] }] }),
    );
    const { url, ended, child } = await start(['--log-level', 'silent'], {
      HEARTH_CONFIG: file,
      HEARTH_HOST: 'localhost',
    });
    expect(url).toMatch(/^http:\/\/localhost:\d+$/);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Model: a = b\n') });
  });

  it('speaks HTTPS with a certificate', async () => {
    const { certificate, key } = selfSigned();
    const files = [await write('cert.pem', certificate), await write('key.pem', key)] as const;
    const tls = ['--tls-certificate', files[0], '--tls-key', files[1]];
    const { url } = await start(['-m', tinyLlama, '--host', 'localhost', ...tls]);
    const [response] = await once(request(`${url}/health`, { ca: certificate }).end(), 'response');
    expect(response.resume().statusCode).toBe(200);
  });

  it.each([
    ['a file', async () => ({ args: ['--api-key-file', await write('keys', 'sk-one\nsk-two\n')] })],
    ['the environment', async () => ({ args: [], env: { HEARTH_API_KEYS: 'sk-one,sk-two' } })],
  ])('wants a key of %s', async (_, setUp) => {
    const { args, env } = (await setUp()) as { args: string[]; env?: NodeJS.ProcessEnv };
    const { url } = await start(['-m', tinyLlama, ...args], env);
    const clientWith = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
    for (const key of ['sk', 'sk-one2']) {
      await expect(clientWith(key).models.list()).rejects.toThrow(OpenAI.AuthenticationError);
    }
    const messages = [{ role: 'user' as const, content: 'abc' }];
    const request = { model: 'model', messages, max_tokens: 4, temperature: 0 };
    for (const key of ['sk-one', 'sk-two']) {
      expect(await clientWith(key).chat.completions.create(request)).toMatchObject({ object: 'chat.completion' });
    }
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it('loads each of several models when it is first used', async () => {
    const server = await start(['-m', `a=${tinyLlama}`, '-m', `b=${tinyLlama}`]);
    expect(await statesOf(server)).toEqual({ a: 'unloaded', b: 'unloaded' });
    expect((await server.post('/tokenize', { model: 'b', content: 'abc' })).status).toBe(200);
    expect(await statesOf(server)).toEqual({ a: 'unloaded', b: 'loaded' });
    expect((await server.post('/tokenize', { content: 'abc' })).status).toBe(200);
    expect(await statesOf(server)).toEqual({ a: 'loaded', b: 'loaded' });
  });

  it('unloads a model that nobody uses, and loads it again', async () => {
    const server = await start(['-m', `a=${tinyLlama}`, '--idle-timeout', '0.1']);
    await untilState(server, 'a', 'loaded');
    await untilState(server, 'a', 'unloaded');
    const messages = [{ role: 'user', content: 'abc' }];
    expect((await server.post('/v1/chat/completions', { messages, max_tokens: 4 })).status).toBe(200);
    await untilState(server, 'a', 'unloaded');
  });

  it('has the conversations after a restart that it had before, kill or not', async () => {
    const file = join(directory, 'talks', 'conversations.sqlite');
    const args = ['-m', tinyLlama, '--conversations', file];
    const first = await start(args);
    const created = await (await first.post('/v1/conversations', { title: 'kept' })).json();
    const path = `/v1/conversations/${(created as { id: string }).id}`;
    await first.post(`${path}/messages`, { role: 'user', content: 'hi' });
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await start(args);
    const read = await (await fetch(second.url + path)).json();
    expect(read).toMatchObject({ title: 'kept', messages: [{ role: 'user', content: 'hi' }] });
    second.child.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(await readdir(join(directory, 'talks'))).toEqual(['conversations.sqlite']);
  });

  it.each<[string, string[], number, RegExp]>([
    ['conversations in what is no database', ['-m', tinyLlama, '--conversations', tinyLlama], 1, /no regular file/],
    ['a model that there is not', ['-m', './nowhere.gguf'], 1, /nowhere\.gguf/],
    ['a setting that makes no sense', ['--port', '-1'], 2, /--port: must be at least 0/],
    ['a key file that cannot be read', ['--api-key-file', './nowhere'], 2, /API keys .* cannot be read/],
    [
      'a certificate that is none',
      ['--tls-certificate', tinyLlama, '--tls-key', tinyLlama],
      2,
      /TLS file .* cannot be read/,
    ],
    ['an address of another machine', ['-m', tinyLlama, '--host', '192.0.2.1'], 1, /no address of this machine/],
    ['an argument', [tinyLlama], 2, /too many arguments/],
  ])('refuses %s in a sentence, and never listens', async (_, args, expectedCode, message) => {
    const { code, stdout, stderr } = await runServer(args);
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  it('refuses a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await runServer(['-m', tinyLlama, '--port', String(port)]);
    other.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `error: The server cannot listen on port ${port} of 127.0.0.1: something else does. End it, or choose another with --port.\n`,
    );
  });

  it('ends when its only model cannot be loaded, and says why', async () => {
    const broken = await write('broken.gguf', 'GGUF');
    const { code, stderr } = await runServer(['-m', broken, '--port', '0']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nerror: .*broken\.gguf.*\n$/);
  });
});
