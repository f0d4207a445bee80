import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type HearthError, InvalidModelError } from '@hearth/core';
import { afterEach, describe, expect, it } from 'vitest';
import { OwnError } from './__fixtures__/own-error.ts';
import type { TestInit, TestMethods } from './__fixtures__/test-worker.ts';
import { BoundedWorker, type BoundedWorkerOptions } from './bounded-worker.ts';

const url = new URL('./__fixtures__/test-worker.ts', import.meta.url);
const open: BoundedWorker<TestMethods, TestInit>[] = [];

function start(options: Partial<BoundedWorkerOptions<TestInit>> = {}) {
  const worker = new BoundedWorker<TestMethods, TestInit>(url, {
    init: { greeting: 'Hello' },
    name: 'test',
    timeLimitMs: 10_000,
    outputLimit: 100_000,
    ...options,
  });
  open.push(worker);
  return worker;
}

const failure = (promise: Promise<unknown>): Promise<HearthError> =>
  promise.then(
    (value) => Promise.reject(new Error(`expected an error, but got ${String(value)}`)),
    (error) => error,
  );

afterEach(async () => {
  await Promise.all(open.splice(0).map((worker) => worker.dispose()));
});

describe('calls', () => {
  it('run in order in one thread that keeps its state', async () => {
    const worker = start();
    const words = ['a', 'b', 'c'].map((word) => worker.call('remember', word));
    expect(await Promise.all(words)).toEqual([['a'], ['a', 'b'], ['a', 'b', 'c']]);
    expect(await worker.call('greet', 'world')).toBe('Hello, world!');
    expect(await worker.call('later', 1)).toBe(2);
  });

  it('move buffers out without a copy wrapper being seen', async () => {
    const ids = await start().call('ids', 4);
    expect(ids).toEqual(new Int32Array([0, 1, 2, 3]));
  });

  it('move buffers in when they are named', async () => {
    const text = new Uint8Array(8);
    const worker = start();
    // The method is not interested in the type; the buffer must be gone from here afterwards.
    await worker.call('greet', text as unknown as string, { transfer: [text.buffer] });
    expect(text.byteLength).toBe(0);
  });
});

describe('errors', () => {
  it('keep class, code, message and details', async () => {
    const worker = start();
    const error = await failure(worker.call('failWith', 'model'));
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(error).toMatchObject({ code: 'invalid_model', message: 'No such key.', details: { key: 'a.b', line: 7 } });
    expect((error.cause as Error).stack).toContain('failWith');
  });

  it('of unknown codes keep code and name, or become the class that the reviver makes', async () => {
    const plain = await failure(start().call('failWith', 'own'));
    expect(plain).toMatchObject({ code: 'own', name: 'OwnError', details: { index: 3 } });
    expect(plain).not.toBeInstanceOf(OwnError);
    const worker = start({
      reviveError: (code, message, options) => (code === 'own' ? new OwnError(message, options) : undefined),
    });
    expect(await failure(worker.call('failWith', 'own'))).toBeInstanceOf(OwnError);
    expect(await failure(worker.call('failWith', 'model'))).toBeInstanceOf(InvalidModelError);
  });

  it('that nobody foresaw become WorkerFailedError, and the worker goes on', async () => {
    const worker = start();
    const error = await failure(worker.call('failWith', 'plain'));
    expect(error).toMatchObject({ name: 'WorkerFailedError', code: 'worker_failed' });
    expect(error.message).toContain('TypeError: cannot read it');
    expect((await failure(worker.call('failWith', 'string'))).message).toContain('just a string');
    expect((await failure(worker.call('failWith', 'long'))).message.length).toBeLessThan(20_000);
    expect((await failure(worker.call('failWith', 'uncloneable'))).details.fine).toBe(2);
    expect(await worker.call('greet', 'you')).toBe('Hello, you!');
  });

  it('name what cannot be cloned, on the way in and out', async () => {
    const worker = start();
    const inward = await failure(worker.call('greet', (() => 1) as unknown as string));
    expect(inward).toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('greet()') });
    expect(await failure(worker.call('giveFunction', undefined))).toMatchObject({ code: 'worker_failed' });
    expect(await worker.call('greet', 'you')).toBe('Hello, you!');
  });

  it('of the whole thread reject the running call; the next one runs in a new thread', async () => {
    const worker = start();
    const first = await worker.call('threadId', undefined);
    const exit = failure(worker.call('exit', undefined));
    const outside = failure(worker.call('throwOutside', undefined));
    expect((await exit).message).toContain('exit code 7');
    expect((await outside).message).toContain('RangeError: nobody catches this');
    expect(await worker.call('threadId', undefined)).not.toBe(first);
  });

  it('are told for an unknown method', async () => {
    const worker = start() as unknown as BoundedWorker<Record<string, (input: unknown) => unknown>>;
    expect((await failure(worker.call('toString', 1))).message).toContain('no method toString()');
  });
});

describe('the start', () => {
  it('rejects every waiting call when init throws, with the typed error', async () => {
    const worker = start({ init: { greeting: '', failAtStart: 'throw' } });
    const errors = await Promise.all([failure(worker.call('greet', 'a')), failure(worker.call('greet', 'b'))]);
    for (const error of errors) expect(error).toMatchObject({ code: 'invalid_model', details: { key: 'greeting' } });
  });

  it('rejects when the thread exits or hangs in it, or its file is missing', async () => {
    const exiting = start({ init: { greeting: '', failAtStart: 'exit' } });
    expect((await failure(exiting.call('greet', 'a'))).message).toContain('exit code 3');
    const hanging = start({ init: { greeting: '', failAtStart: 'hang' }, startLimitMs: 200 });
    expect(await failure(hanging.call('greet', 'a'))).toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'start', startLimitMs: 200 },
    });
    const missing = new BoundedWorker<TestMethods>(new URL('./no-such-file.js', import.meta.url), {
      init: undefined,
      name: 'test',
      timeLimitMs: 1000,
      outputLimit: 10,
    });
    expect(await failure(missing.call('greet', 'a'))).toMatchObject({ code: 'worker_failed' });
    await missing.dispose();
  });

  it('refuses limits that make no sense', () => {
    for (const timeLimitMs of [0, -1, Number.NaN, 2 ** 31]) {
      expect(() => start({ timeLimitMs })).toThrow(/timeLimitMs must be between/);
    }
    expect(() => start({ outputLimit: Number.NaN })).toThrow(/outputLimit/);
  });
});

describe('limits', () => {
  it('of time end a loop, and the call behind it runs in a replacement with the same init', async () => {
    const worker = start();
    const before = await worker.call('threadId', undefined);
    const loop = failure(worker.call('spin', undefined, { timeLimitMs: 50 }));
    const regex = failure(worker.call('backtrack', undefined, { timeLimitMs: 50 }));
    const after = worker.call('greet', 'again');
    expect(await loop).toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'time', timeLimitMs: 50, method: 'spin' },
    });
    expect(await regex).toMatchObject({ code: 'limit_exceeded', details: { method: 'backtrack' } });
    expect(await after).toBe('Hello, again!');
    expect(await worker.call('threadId', undefined)).not.toBe(before);
  });

  it('of output keep the result in the worker, which goes on', async () => {
    const worker = start();
    const threadId = await worker.call('threadId', undefined);
    const error = await failure(worker.call('repeat', { text: 'ab', times: 60_000 }));
    expect(error).toMatchObject({ code: 'limit_exceeded', details: { limit: 'output', outputLimit: 100_000 } });
    expect(await failure(worker.call('ids', 30_000))).toMatchObject({ details: { limit: 'output' } });
    expect(await worker.call('repeat', { text: 'ab', times: 60_000 }, { outputLimit: 120_000 })).toHaveLength(120_000);
    expect(await worker.call('threadId', undefined)).toBe(threadId);
  });

  it('of the heap end the thread and not the process', async () => {
    const worker = start({ heapLimitMiB: 32 });
    const error = await failure(worker.call('eatMemory', undefined));
    expect(error).toMatchObject({ code: 'limit_exceeded', details: { limit: 'heap', heapLimitMiB: 32 } });
    expect(await worker.call('greet', 'again')).toBe('Hello, again!');
  });
});

describe('aborting', () => {
  it('takes a waiting call out of the queue and leaves the others', async () => {
    const worker = start();
    const controller = new AbortController();
    const first = worker.call('remember', 'first');
    const second = failure(worker.call('remember', 'second', { signal: controller.signal }));
    const third = worker.call('remember', 'third');
    controller.abort(new Error('changed my mind'));
    const error = await second;
    expect(error).toMatchObject({ name: 'AbortError', code: 'aborted' });
    expect((error.cause as Error).message).toBe('changed my mind');
    await first;
    expect(await third).toEqual(['first', 'third']);
  });

  it('ends a running call at once, and the next one runs in a replacement', async () => {
    const worker = start();
    await worker.call('remember', 'lost with the thread');
    const controller = new AbortController();
    const loop = failure(worker.call('spin', undefined, { signal: controller.signal }));
    const next = worker.call('remember', 'next');
    setTimeout(() => controller.abort(), 50);
    expect(await loop).toMatchObject({ code: 'aborted' });
    expect(await next).toEqual(['next']);
  });

  it('before the call runs nothing, after it changes nothing', async () => {
    const worker = start();
    expect(await failure(worker.call('remember', 'x', { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'aborted',
    });
    const controller = new AbortController();
    expect(await worker.call('remember', 'y', { signal: controller.signal })).toEqual(['y']);
    controller.abort();
    expect(await worker.call('remember', 'z')).toEqual(['y', 'z']);
  });
});

describe('dispose', () => {
  it('before the first call, twice, and at the same time', async () => {
    const worker = start();
    await Promise.all([worker.dispose(), worker.dispose()]);
    await worker.dispose();
    expect(await failure(worker.call('greet', 'a'))).toMatchObject({ name: 'DisposedError', code: 'disposed' });
  });

  it('while the thread starts, idles, and loops rejects what is open', async () => {
    const starting = start();
    const early = failure(starting.call('greet', 'a'));
    await starting.dispose();
    expect(await early).toMatchObject({ code: 'disposed' });

    const idle = start();
    await idle.call('greet', 'a');
    await idle.dispose();

    const busy = start();
    await busy.call('greet', 'a');
    const running = failure(busy.call('spin', undefined));
    const waiting = failure(busy.call('greet', 'b'));
    await busy.dispose();
    expect(await running).toMatchObject({ code: 'disposed' });
    expect(await waiting).toMatchObject({ code: 'disposed' });
  });
});

describe('an idle worker', () => {
  it('does not keep the process alive, nor does its replacement', async () => {
    const script = fileURLToPath(new URL('./__fixtures__/idle-process.ts', import.meta.url));
    const root = fileURLToPath(new URL('../', import.meta.url));
    const args = ['--import', 'tsx', '--conditions=@hearth/source', script];
    // A watchdog: without it a process that stays alive would hang the suite.
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 50_000, cwd: root });
    expect(stdout.trim().split('\n')).toEqual(['Hello, idle!', 'limit_exceeded']);
  });
});
