import { cp, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Checkpoint } from '@hearth/checkpoint';
import { MemoryFile } from '@hearth/core';
import { createCpuBackend, listPackedFiles } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeChatTemplate } from '../test/fake-chat-template.ts';
import { FakeTokenizer } from '../test/fake-tokenizer.ts';
import { hasKernels } from './__fixtures__/has-kernels.ts';
import { loadModel } from './load-model.ts';
import type { PrepareModelOptions } from './load-options.ts';
import { packedCacheOf } from './packed-cache.ts';

// Starting their workers takes a second from sources; tiny-llama.test.ts has the real ones.
vi.mock('@hearth/tokenizer', async (original) => ({
  ...(await original<typeof import('@hearth/tokenizer')>()),
  loadTokenizer: async () => new FakeTokenizer(),
}));

vi.mock('@hearth/chat-format', async (original) => ({
  ...(await original<typeof import('@hearth/chat-format')>()),
  loadChatTemplate: async () => new FakeChatTemplate(),
}));

const tinyLlama = fileURLToPath(new URL('../../../golden/fixtures/tiny-llama/model', import.meta.url));

let directory: string;
let model: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-packed-cache-'));
  model = join(directory, 'model');
  await cp(tinyLlama, model, { recursive: true });
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** Loads the model, generates, and waits until its packed file is written if one is to be. */
async function run({ cpu = true, ...options }: Partial<PrepareModelOptions> & { cpu?: boolean } = {}) {
  const backend = cpu ? await createCpuBackend({ numThreads: 2 }) : createReferenceBackend();
  const packed = join(directory, 'packed');
  const states = async () => (await listPackedFiles(packed)).map(({ path, usedAt }) => `${path} ${usedAt.getTime()}`);
  const before = new Set(await states());
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message);
  const packedCache = { directory: packed, maxBytes: 1e9, minBytes: 0, onWarning };
  const loaded = await loadModel(model, { backend, ownsBackend: true, packedCache, ...options });
  const { weightsFromCache, fingerprint } = loaded.info;
  const session = loaded.createSession({ tokenIds: [1, 5, 9, 40] });
  const { tokenIds } = await session.generate({ maxTokens: 12, temperature: 0, ignoreEos: true }).result;
  if (!weightsFromCache && cpu) {
    await vi.waitFor(async () => expect((await states()).some((state) => !before.has(state))).toBe(true));
  }
  await loaded.dispose();
  expect(warnings).toEqual([]);
  return { weightsFromCache, fingerprint, tokenIds };
}

describe.skipIf(!hasKernels())('the packed cache', () => {
  it('gives the second load the tokens of the first', async () => {
    const first = await run();
    expect(await run()).toEqual({ ...first, weightsFromCache: true });
    const [file] = await listPackedFiles(join(directory, 'packed'));
    expect(file).toMatchObject({ source: model });
  });

  it('keeps weights quantized on load beside those that are not', async () => {
    const plain = await run();
    const quantized = await run({ quantize: 'q4_0' });
    expect([plain, quantized].map(({ weightsFromCache }) => weightsFromCache)).toEqual([false, false]);
    expect(quantized.fingerprint).not.toBe(plain.fingerprint);
    expect(await run({ quantize: 'q4_0' })).toEqual({ ...quantized, weightsFromCache: true });
    expect(await run()).toEqual({ ...plain, weightsFromCache: true });
    expect((await run({ quantize: 'q8_0' })).weightsFromCache).toBe(false);
    expect(await listPackedFiles(join(directory, 'packed'))).toHaveLength(3);
  });

  it('serves any context length, and no file that was written to since', async () => {
    await run();
    expect((await run({ contextLength: 64 })).weightsFromCache).toBe(true);
    await utimes(join(model, 'model.safetensors'), 1, 1);
    expect((await run()).weightsFromCache).toBe(false);
    expect((await run()).weightsFromCache).toBe(true);
    expect(await listPackedFiles(join(directory, 'packed'))).toHaveLength(1);
  });
});

it('is nothing to a backend that does not pack', async () => {
  expect((await run({ cpu: false })).weightsFromCache).toBe(false);
  expect(await readdir(directory)).toEqual(['model']);
});

it('is not for bytes that no file has', () => {
  const checkpoint = { headerHash: 'h', path: '/m', files: [new MemoryFile(new Uint8Array(1))] } as Partial<Checkpoint>;
  const options = { directory: '/d', maxBytes: 1, minBytes: 0 };
  expect(packedCacheOf(checkpoint as Checkpoint, new Map(), options)).toBeUndefined();
});
