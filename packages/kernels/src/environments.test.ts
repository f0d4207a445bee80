import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Op } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { makeBatch } from './__fixtures__/batches.ts';
import { opProgram } from './__fixtures__/op-program.ts';
import { encodeProgram } from './encode-program.ts';
import { loadAddon } from './load-addon.ts';

// The addon in several environments of one process, and processes that end while it works. The scripts use the raw addon,
// because workers and child processes of a test cannot import TypeScript.

const addonPath = createRequire(import.meta.url).resolve('../build/Release/hearth_kernels.node');

/** Makes `runtime` and `slow()`: packing 64 MiB, some ten milliseconds of work on all threads. */
const prelude = `
  const addon = require(${JSON.stringify(addonPath)});
  const runtime = new addon.Runtime('', 2);
  const bytes = new Uint8Array(64 << 20);
  const slow = () => {
    const weights = runtime.createWeights();
    weights.addMatrix(0, 4096, 4096, undefined);
    return weights.packBytes(0, bytes, 0, 4096);
  };
`;

function startWorker(script: string, workerData?: unknown): Worker {
  return new Worker(`const { parentPort } = require('node:worker_threads'); ${prelude} ${script}`, {
    eval: true,
    workerData,
  });
}

const nextMessage = (worker: Worker) =>
  new Promise<unknown>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });

const run = promisify(execFile);
/** Ten times what it takes on a busy machine; a hang, not slowness, is what it ends. */
const watchdog = { timeout: 60_000 };

describe('the addon', () => {
  it('works in several workers and in the main thread at once', async () => {
    const workers = [1, 2, 3].map(() =>
      startWorker(`slow().then(() => runtime.dispose()).then(() => parentPort.postMessage('done'))`),
    );
    const runtime = new (loadAddon().Runtime)('', 2);
    const weights = runtime.createWeights();
    weights.addMatrix(0, 8, 8, undefined, undefined);
    await weights.packBytes(0, new Uint8Array(256), 0, 8);
    expect(await Promise.all(workers.map(nextMessage))).toEqual(['done', 'done', 'done']);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await runtime.dispose();
  });

  it('survives workers that are ended in the middle of its work', async () => {
    for (let round = 0; round < 4; round++) {
      const worker = startWorker(`
        const again = () => slow().then(again);
        again(); again(); again();
        parentPort.postMessage('working');
      `);
      await nextMessage(worker);
      await worker.terminate();
    }
  });

  it('survives workers that are ended in the middle of a step', async () => {
    // 400 products of 512 x 512 x 512: seconds of work, which the end of the environment cancels between two ops.
    const view = (buffer: number) => ({ buffer, column: 0, width: 512 });
    const product: Op = { kind: 'linear', name: 'product', x: view(0), weights: [0], biases: [null], out: view(1) };
    const spec = {
      input: new Float32Array(512 * 512),
      inputWidth: 512,
      buffers: [512],
      weights: [{ role: 'matrix', shape: [512, 512] } as const],
      ops: Array(400).fill(product),
    };
    const words = encodeProgram(opProgram(spec, 512), [0, 0]);
    const worker = startWorker(
      `
      const weights = runtime.createWeights();
      weights.addMatrix(0, 512, 512, undefined);
      weights.packBytes(0, bytes.subarray(0, 512 * 512 * 4), 0, 512).then(() => {
        const { words, batch } = require('node:worker_threads').workerData;
        const executable = runtime.compile(weights, words, 512, 1, Int32Array.of(0, 16, 32));
        executable.step(batch, 0, undefined, false);
        parentPort.postMessage('stepping');
      });
      `,
      { words, batch: makeBatch([{ tokenIds: Array(512).fill(1), start: 0, blocks: [...Array(32).keys()] }]) },
    );
    expect(await nextMessage(worker)).toBe('stepping');
    await worker.terminate();
  });

  it('lets a process end that has forgotten to dispose', async () => {
    const script = `${prelude} slow().then(() => console.log('packed'));`;
    const { stdout } = await run(process.execPath, ['-e', script], watchdog);
    expect(stdout).toBe('packed\n');
  });

  it('keeps a process alive while a promise is pending, and no longer', async () => {
    const script = `${prelude} slow(); slow().then(() => console.log('second'));`;
    const { stdout } = await run(process.execPath, ['-e', script], watchdog);
    expect(stdout).toBe('second\n');
  });

  it('lets a process exit in the middle of its work', async () => {
    const script = `${prelude} slow(); slow(); slow(); setImmediate(() => process.exit(7));`;
    await expect(run(process.execPath, ['-e', script], watchdog)).rejects.toMatchObject({ code: 7, signal: null });
  });

  it('gives memory back when its objects are collected', async () => {
    // 25 sets of weights of 64 MiB each, dropped and not disposed: without finalizers that is 1.6 GiB.
    const script = `${prelude}
      (async () => {
        for (let i = 0; i < 25; i++) {
          await slow();
          await new Promise((resolve) => setImmediate(resolve));
          gc();
        }
        console.log(process.memoryUsage.rss() < 1e9);
      })();
    `;
    const { stdout } = await run(process.execPath, ['--expose-gc', '-e', script], watchdog);
    expect(stdout).toBe('true\n');
  });

  it('uses no processor time when idle', async () => {
    // The workers spin for well under a millisecond, then sleep. A worker that went on spinning would use all 500 ms.
    const script = `${prelude}
      slow().then(() => setTimeout(() => {
        const before = process.cpuUsage();
        setTimeout(() => {
          const { user, system } = process.cpuUsage(before);
          console.log(user + system < 250_000);
        }, 500);
      }, 100));
    `;
    const { stdout } = await run(process.execPath, ['-e', script], watchdog);
    expect(stdout).toBe('true\n');
  });
});

const objects = join(dirname(addonPath), '../CMakeFiles/kernels.dir/native/kernels');
/** Folders of variants that were compiled with instruction sets of their own, and the Isa that their templates are made for. */
const variantFolders = [
  ['avx2', 'hearth::Avx2'],
  ['avx_vnni', 'hearth::AvxVnni'],
  ['avx512_vnni', 'hearth::Avx512Vnni'],
] as const;

describe.runIf(process.platform === 'linux')('its symbols', () => {
  const nm = (...args: string[]) => execFileSync('nm', args, { encoding: 'utf8' }).trim().split('\n');

  it('are its entry points alone', () => {
    const names = nm('-D', '--defined-only', addonPath).map((line) => line.split(' ').at(-1));
    expect(names.sort()).toEqual(['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
  });

  // A cached build brings the addon without the objects that it was linked from.
  const built = variantFolders.filter(([folder]) => existsSync(join(objects, folder)));
  it.each(built)('that could replace those of other files are not compiled for %s', (folder, isa) => {
    // A function that is inline in a header is compiled into every file that uses it, and the linker keeps any one copy: were
    // it that of an AVX2 file, the portable variant would run it on processors without AVX2.
    const files = readdirSync(join(objects, folder)).filter((name) => name.endsWith('.o'));
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) {
      const weak = nm('-C', '--defined-only', join(objects, folder, file)).filter((line) => /^\S+ [WVu] /.test(line));
      expect(weak.length).toBeGreaterThan(0);
      expect(weak.filter((line) => !line.includes(isa))).toEqual([]);
    }
  });
});
