import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Backend } from '@hearth/core';
import type * as Kernels from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDefaultBackend } from './default-backend.ts';
import * as publicApi from './index.ts';
import { type LoadModelOptions, type LoadProgress, loadModel } from './load-model.ts';

const tinyLlama = fileURLToPath(new URL('../../golden/fixtures/tiny-llama/model', import.meta.url));

/** Stands for `createCpuBackend`; undefined is the real one. */
let cpuBackend: (() => Promise<Backend>) | undefined;

vi.mock('@hearth/kernels', async (original) => {
  const kernels = await original<typeof Kernels>();
  return {
    ...kernels,
    createCpuBackend: (options: Kernels.CpuBackendOptions) => cpuBackend?.() ?? kernels.createCpuBackend(options),
  };
});

const { KernelsLoadError } = await import('@hearth/kernels');

function noKernels(): Promise<Backend> {
  return Promise.reject(
    new KernelsLoadError('The native kernels could not be loaded.', { details: {}, cause: undefined }),
  );
}

afterEach(() => {
  cpuBackend = undefined;
  vi.restoreAllMocks();
});

describe('createDefaultBackend', () => {
  it('falls back to the reference, and says so once', async () => {
    cpuBackend = noKernels;
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    for (let i = 0; i < 2; i++) {
      const backend = await createDefaultBackend();
      expect(backend.info.kind).toBe('reference');
      await backend.dispose();
    }
    expect(warn.mock.calls).toEqual([
      ['The native kernels could not be loaded.', { type: 'HearthWarning', code: 'HEARTH_REFERENCE_BACKEND' }],
    ]);
  });

  it('does not hide other failures', async () => {
    await expect(createDefaultBackend({ fileAccess: 'telepathy' as never })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('loadModel', () => {
  it('runs the lines of the README', async () => {
    cpuBackend = async () => createReferenceBackend();
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const blocks = [...readme.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]!);
    // All of them go on with the model of the first.
    const all = blocks.join('\n').replace('await model.dispose();', '');
    const imports = /^import \{ (.*) \} from '@hearth\/llm';\n/gm;
    const names = [...all.matchAll(imports)].flatMap((match) => match[1]!.split(', '));
    const body = `${all.replace(imports, '')} await model.dispose(); return { usage, text, answers, guessed };`;
    const code = body.replace("'smollm2:135m'", JSON.stringify(tinyLlama));
    expect(code).not.toBe(body);

    const out: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
    vi.spyOn(console, 'log').mockImplementation((...values) => out.push(values.join(' ')));
    const AsyncFunction = (async () => {}).constructor as new (
      ...args: string[]
    ) => (...args: unknown[]) => Promise<{
      usage: { completionTokens: number };
      text: string;
      answers: string[];
      guessed: publicApi.GenerateResult;
    }>;
    const run = new AsyncFunction(...names, code);
    const exported: Record<string, unknown> = { ...publicApi };
    const { usage, text, answers, guessed } = await run(...names.map((name) => exported[name]));
    expect(out).toContainEqual(expect.stringMatching(`, ${usage.completionTokens} tokens, `));
    expect(answers).toHaveLength(3);
    expect(guessed.speculation?.byProposer).toHaveProperty('prompt-lookup');
    expect(text.length).toBeGreaterThan(0);
  });

  it('quantizes, and measures what that costs', async () => {
    cpuBackend = async () => createReferenceBackend();
    const stored = await loadModel(tinyLlama, { contextLength: 64 });
    const quantized = await loadModel(tinyLlama, { contextLength: 64, quantize: 'q4_0' });
    expect(quantized.info.weightDtypes).toHaveProperty('q4_0');
    const tokenIds = await stored.tokenizer.encode('the cat sat on the mat', { addBos: false });
    const { against } = await publicApi.perplexity(quantized, tokenIds, { against: stored });
    const { against: itself } = await publicApi.perplexity(stored, tokenIds, { against: stored });
    expect(against!.meanKl).toBeGreaterThan(0);
    expect(itself).toMatchObject({ meanKl: 0, top1Agreement: 1 });
    await quantized.dispose();
    await stored.dispose();
  });

  it('reports what the engine reports, and disposes of its own backend with the model', async () => {
    const backend = createReferenceBackend();
    const dispose = vi.spyOn(backend, 'dispose');
    cpuBackend = async () => backend;
    const phases: LoadProgress['phase'][] = [];
    const model = await loadModel(tinyLlama, { contextLength: 64, onProgress: ({ phase }) => phases.push(phase) });
    expect(model.info.contextLength).toBe(64);
    expect(new Set(phases)).toEqual(new Set(['header', 'tokenizer', 'weights']));
    await model.dispose();
    expect(dispose).toHaveBeenCalledOnce();
  });

  it('leaves a backend of the caller alone', async () => {
    const backend = createReferenceBackend();
    const dispose = vi.spyOn(backend, 'dispose');
    await (await loadModel(tinyLlama, { backend })).dispose();
    expect(dispose).not.toHaveBeenCalled();
    await backend.dispose();
  });

  it('disposes of its own backend when loading fails', async () => {
    const backend = createReferenceBackend();
    const dispose = vi.spyOn(backend, 'dispose');
    cpuBackend = async () => backend;
    await expect(loadModel(tinyLlama, { contextLength: -1 })).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(dispose).toHaveBeenCalledOnce();
  });

  it('refuses an option that there is not, before anything is fetched', async () => {
    const options = { maxToken: 5 } as LoadModelOptions;
    await expect(loadModel('./no/such/model.gguf', options)).rejects.toMatchObject({ details: { field: 'maxToken' } });
  });

  it('says that there is no such model', async () => {
    await expect(loadModel('./no/such/model.gguf')).rejects.toThrow(/no\/such\/model/);
  });
});
