import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChatTemplateSource } from '@hearth/chat-format';
import { type Backend, ContextLengthError, InvalidModelError, numericsVersion } from '@hearth/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeBackend } from '../test/fake-backend.ts';
import { FakeChatTemplate } from '../test/fake-chat-template.ts';
import { FakeTokenizer } from '../test/fake-tokenizer.ts';
import { hashScript } from '../test/scripts.ts';
import { CountingFileMapper } from './__fixtures__/counting-file-mapper.ts';
import { loadModel } from './load-model.ts';
import type { LoadModelOptions, PrepareModelOptions } from './load-options.ts';
import { prepareModel } from './prepare-model.ts';
import type { PreparedModel } from './prepared-model.ts';
import type { LoadProgress } from './progress.ts';

// Starting their workers takes a second from sources; tiny-llama.test.ts has the real ones.
vi.mock('@hearth/tokenizer', async (original) => ({
  ...(await original<typeof import('@hearth/tokenizer')>()),
  loadTokenizer: async () => new FakeTokenizer(),
}));
vi.mock('@hearth/chat-format', async (original) => ({
  ...(await original<typeof import('@hearth/chat-format')>()),
  loadChatTemplate: async (source: ChatTemplateSource) => {
    if (source.template?.includes('broken')) throw new InvalidModelError('line 1: the template is broken.');
    return new FakeChatTemplate();
  },
}));

/** A random Llama of 98,624 parameters with its tokenizer: a complete Hugging Face directory. */
const tinyLlama = fileURLToPath(new URL('../../../golden/fixtures/tiny-llama/model', import.meta.url));

let backend: FakeBackend;
let fileMapper: CountingFileMapper;

beforeEach(() => {
  fileMapper = new CountingFileMapper();
  backend = new FakeBackend({ next: hashScript(), fileMapper });
});

afterEach(async () => {
  expect(fileMapper.numOpen).toBe(0);
  // Throws when weights or executables are left.
  await backend.dispose();
});

const prepare = (options: Partial<PrepareModelOptions> = {}) => prepareModel(tinyLlama, { backend, ...options });

async function withPrepared(use: (prepared: PreparedModel) => unknown, options: Partial<PrepareModelOptions> = {}) {
  const prepared = await prepare(options);
  try {
    await use(prepared);
  } finally {
    await prepared.dispose();
  }
}

/** A copy of the model with one of its JSON files changed. */
async function withChangedFile(
  file: string,
  change: (json: Record<string, unknown>) => void,
  use: (path: string) => unknown,
) {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-engine-'));
  try {
    await cp(tinyLlama, directory, { recursive: true });
    const json = JSON.parse(await readFile(join(directory, file), 'utf8'));
    change(json);
    await writeFile(join(directory, file), JSON.stringify(json));
    await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

describe('prepareModel', () => {
  it('says what the headers say, without reading weights', async () => {
    await withPrepared((prepared) => {
      expect(prepared.info).toEqual({
        name: 'model',
        path: tinyLlama,
        format: 'safetensors',
        architecture: 'LlamaForCausalLM',
        numParameters: 98_624,
        numLayers: 2,
        hiddenSize: 64,
        numHeads: 4,
        numKvHeads: 2,
        headDim: 16,
        vocabSize: 288,
        maxContextLength: 8192,
        contextLength: 4096,
        weightDtypes: { f32: { tensors: 21, bytes: 98_624 * 4 } },
        fileBytes: 396_640,
      });
      // The first from config.json, the others from the tokenizer.
      expect([...prepared.eosTokenIds]).toEqual([2, 257, 259]);
      expect(prepared.config.model_type).toBe('llama');
      expect(backend.live.weights).toBe(0);
    });
  });

  it('encodes and renders, so that requests can be refused before weights are loaded', async () => {
    const limited = { contextLength: 16 };
    await withPrepared(async (prepared) => {
      const tokenIds = await prepared.tokenizer.encode('the cat');
      prepared.checkPrompt(tokenIds);
      prepared.checkPrompt(new Int32Array(15));
      expect(() => prepared.checkPrompt(new Int32Array(16))).toThrow(new ContextLengthError(17, 16));
      expect(() => prepared.checkPrompt([])).toThrow(/prompt is empty/);
      expect(() => prepared.checkPrompt([288])).toThrow(/from 0 to 287/);
    }, limited);
  });

  it.each([0, -1, 1.5, 8193, Number.NaN])('refuses a context length of %s', async (contextLength) => {
    await expect(prepare({ contextLength })).rejects.toThrow(/contextLength must be a whole number from 1 to 8192/);
  });

  it('fixes rotary scaling that depends on the length for the context length, also for the default one', async () => {
    const frequencyOf = async (path: string, contextLength?: number) => {
      const compile = vi.spyOn(backend, 'compile');
      const model = await loadModel(path, { backend, contextLength });
      const { ropes } = compile.mock.calls[0]![0];
      compile.mockRestore();
      expect(model.info).toMatchObject({ maxContextLength: 3072, contextLength: contextLength ?? 3072 });
      await model.dispose();
      return ropes[0]!.invFreq[1]!;
    };
    await withChangedFile(
      'config.json',
      (json) => {
        json.max_position_embeddings = 1024;
        json.rope_scaling = { rope_type: 'dynamic', factor: 3 };
      },
      async (path) => {
        const [original, longer, longest] = [
          await frequencyOf(path, 1024),
          await frequencyOf(path, 2048),
          await frequencyOf(path),
        ];
        expect(longer).toBeLessThan(original);
        expect(longest).toBeLessThan(longer);
        // The default is 4096, which this model cannot address.
        expect(await frequencyOf(path, 3072)).toBe(longest);
      },
    );
  });

  it('takes end tokens from every file that names one', async () => {
    await withChangedFile(
      'generation_config.json',
      (json) => {
        json.eos_token_id = [7, 2, 5000];
      },
      async (path) => {
        const prepared = await prepareModel(path, { backend });
        expect([...prepared.eosTokenIds]).toEqual([2, 7, 257, 259]);
        await prepared.dispose();
      },
    );
  });

  it.each<[string, unknown, string, RegExp | null]>([
    ['without a chat template', undefined, 'no_chat_template', null],
    ['with a broken chat template', '{% broken', 'invalid_model', /chat template does not work.*line 1/],
  ])('opens a model %s, and says so to those who chat (B31)', async (_, template, code, warning) => {
    await withChangedFile(
      'tokenizer_config.json',
      (json) => {
        json.chat_template = template;
      },
      async (path) => {
        const prepared = await prepareModel(path, { backend });
        expect(prepared.chatTemplate).toBeNull();
        await expect(prepared.renderChat([{ role: 'user', content: 'hi' }])).rejects.toMatchObject({ code });
        if (warning) expect(prepared.warnings).toEqual([expect.stringMatching(warning)]);
        else expect(prepared.warnings).toEqual([]);
        await prepared.dispose();
      },
    );
  });

  it('refuses a model whose tensors do not fit its config', async () => {
    await withChangedFile(
      'config.json',
      (json) => {
        json.num_hidden_layers = 3;
      },
      (path) => expect(prepareModel(path, { backend })).rejects.toThrow(/9 missing \(model.layers.2/),
    );
  });

  it('refuses an architecture that is not known', async () => {
    await withChangedFile(
      'config.json',
      (json) => {
        json.architectures = ['Mamba2ForCausalLM'];
      },
      (path) => expect(prepareModel(path, { backend })).rejects.toThrow(/Mamba2ForCausalLM is not supported/),
    );
  });

  it('refuses weights of a type that the backend does not take', async () => {
    const picky: Backend = Object.assign(Object.create(backend), { info: { ...backend.info, weightDtypes: ['f16'] } });
    await expect(prepareModel(tinyLlama, { backend: picky })).rejects.toThrow(
      /is stored as f32; this backend takes f16/,
    );
  });

  it('refuses a model without a tokenizer', async () => {
    await withChangedFile(
      'config.json',
      () => {},
      async (path) => {
        await rm(join(path, 'tokenizer.json'));
        await expect(prepareModel(path, { backend })).rejects.toThrow(/has no tokenizer.json/);
      },
    );
  });

  it('stops when its signal fires, before or between its phases', async () => {
    await expect(prepare({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    const controller = new AbortController();
    const onProgress = ({ phase }: LoadProgress) => {
      if (phase === 'tokenizer') controller.abort();
    };
    await expect(prepare({ signal: controller.signal, onProgress })).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('says that there is no model', async () => {
    await expect(prepareModel('/no/such/model.gguf', { backend })).rejects.toThrow(/There is no model at/);
  });
});

describe('loadWeights', () => {
  it('hands everything over to the model, and closes the files', async () => {
    const prepared = await prepare({ contextLength: 100 });
    const model = await prepared.loadWeights({ cacheTokens: 200 });
    expect(fileMapper.numOpen).toBe(0);
    await prepared.dispose();
    expect(model.info).toMatchObject({
      ...prepared.info,
      packedBytes: 98_624 * 4,
      weightsFromCache: false,
      sourceBytes: 98_624 * 4,
      cacheDtype: 'f16',
      // 2 layers · keys and values · 2 KV heads · 16 dimensions · 2 bytes
      kvBytesPerToken: 2 * 2 * 2 * 16 * 2,
      // 200 positions in blocks of 32
      cacheTokens: 224,
      backend: { variant: 'fake' },
      numericsVersion,
    });
    const { usage } = await model
      .createSession({ tokenIds: await model.tokenizer.encode('the cat') })
      .generate({ temperature: 0, maxTokens: 3 }).result;
    expect(usage.completionTokens).toBe(3);
    await model.dispose();
  });

  it('gives equal models equal fingerprints, and others other ones', async () => {
    const fingerprint = async (path: string) => {
      const model = await loadModel(path, { backend });
      await model.dispose();
      return model.info.fingerprint;
    };
    const original = await fingerprint(tinyLlama);
    expect(original).toMatch(/^[0-9a-f]{64}$/);
    await withChangedFile(
      'generation_config.json',
      () => {},
      async (path) => {
        expect(await fingerprint(path)).toBe(original);
        // One bit in the middle of the last tensor.
        const file = join(path, 'model.safetensors');
        const bytes = await readFile(file);
        bytes[bytes.length - 98]! ^= 1;
        await writeFile(file, bytes);
        expect(await fingerprint(path)).not.toBe(original);
      },
    );
  });

  it('gives another fingerprint for another configured context length only where the rotary frequencies follow from it', async () => {
    const fingerprints = async (path: string) => {
      const found = new Set<string>();
      for (const contextLength of [512, 1024, 2048]) {
        const model = await loadModel(path, { backend, contextLength });
        found.add(model.info.fingerprint);
        await model.dispose();
      }
      return found.size;
    };
    expect(await fingerprints(tinyLlama)).toBe(1);
    const dynamic = (json: Record<string, unknown>) => {
      json.max_position_embeddings = 1024;
      json.rope_scaling = { rope_type: 'dynamic', factor: 2 };
    };
    // Up to the length that the model was made for nothing is scaled.
    await withChangedFile('config.json', dynamic, async (path) => expect(await fingerprints(path)).toBe(2));
  });

  it.each([
    [{ cacheDtype: 'q4' }, /cacheDtype must be one of f32, f16/],
    // A type that there is, but not in this backend.
    [{ cacheDtype: 'q8' }, /cacheDtype must be one of f32, f16 with this backend, got q8/],
    [{ cacheTokens: 0 }, /cacheTokens must be a whole number from 1/],
    [{ cacheBytes: 10 }, /cacheBytes must be a whole number from \d+ to \d+ \(a block of 32 positions\), got 10/],
    [{ cacheTokens: 64, cacheBytes: 1e6 }, /give one of them/],
    [{ maxSequences: 65 }, /maxSequences must be a whole number from 1 to 64 \(from maxTokensPerStep/],
    [{ maxQueued: -1 }, /maxQueued must be a whole number from 0/],
    [{ prefillTimeMs: 0 }, /prefillTimeMs must be a number of milliseconds above 0, got 0/],
    [{ loop: 'fast' }, /loop must be one of overlapped, simple, got fast/],
    [{ speculation: { proposers: 'lookup' } }, /speculation.proposers must be an array/],
    [{ maxTokensPerStep: 0 }, /maxTokensPerStep must be a whole number from 1/],
  ])('refuses %j, and can be tried again', async (options, message) => {
    await withPrepared(
      async (prepared) => {
        await expect(prepared.loadWeights(options as never)).rejects.toThrow(message);
        await (await prepared.loadWeights()).dispose();
      },
      { contextLength: 64 },
    );
  });

  it.each(['f16', 'f32'] as const)('says before loading what a position takes in a cache of %s', async (cacheDtype) => {
    await withPrepared(async (prepared) => {
      const bytesPerToken = prepared.cacheBytesPerToken(cacheDtype);
      const model = await prepared.loadWeights({ cacheDtype, cacheBytes: 97 * bytesPerToken });
      expect(model.info).toMatchObject({ kvBytesPerToken: bytesPerToken, cacheTokens: 96 });
      await model.dispose();
    });
  });

  it('can be tried again after an abort or a failure', async () => {
    await withPrepared(async (prepared) => {
      const controller = new AbortController();
      backend.beforeLoad = () => new Promise(() => {});
      const loading = prepared.loadWeights({ signal: controller.signal });
      setTimeout(() => controller.abort('enough'), 20);
      await expect(loading).rejects.toMatchObject({ name: 'AbortError', cause: 'enough' });
      backend.beforeLoad = () => Promise.reject(new Error('disk'));
      await expect(prepared.loadWeights()).rejects.toThrow('disk');
      backend.beforeLoad = undefined;
      await (await prepared.loadWeights()).dispose();
    });
  });

  it('loads once', async () => {
    await withPrepared(async (prepared) => {
      const loading = prepared.loadWeights();
      await expect(prepared.loadWeights()).rejects.toThrow(/are being loaded, or were/);
      const model = await loading;
      await expect(prepared.loadWeights()).rejects.toThrow(/are being loaded, or were/);
      await model.dispose();
    });
  });

  it('ends with a DisposedError when it is disposed while it loads', async () => {
    const prepared = await prepare();
    backend.beforeLoad = () => new Promise(() => {});
    const loading = prepared.loadWeights();
    const outcome = expect(loading).rejects.toMatchObject({ code: 'disposed', details: { what: 'prepared model' } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([prepared.dispose(), prepared.dispose()]);
    await outcome;
    await expect(prepared.loadWeights()).rejects.toMatchObject({ code: 'disposed' });
    await expect(prepared.renderChat([])).rejects.toMatchObject({ code: 'disposed' });
  });

  it('frees the weights when they are there just as it is disposed', async () => {
    const prepared = await prepare();
    let disposing: Promise<void> | undefined;
    backend.beforeLoad = () => {
      queueMicrotask(() => {
        disposing = prepared.dispose();
      });
    };
    await expect(prepared.loadWeights()).rejects.toMatchObject({ code: 'disposed' });
    await disposing;
    expect(backend.live).toEqual({ executables: 0, weights: 0 });
  });
});

describe('loadModel', () => {
  it('reports its phases in order', async () => {
    const seen: LoadProgress[] = [];
    const model = await loadModel(tinyLlama, { backend, onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([
      { phase: 'header' },
      { phase: 'tokenizer' },
      { phase: 'weights', doneBytes: 0, totalBytes: 394_496 },
      { phase: 'weights', doneBytes: 394_496, totalBytes: 394_496 },
    ]);
    await model.dispose();
  });

  it('refuses an option that there is not, by name, before it opens anything', async () => {
    const options = { backend, contextLenght: 64 } as LoadModelOptions;
    const loading = loadModel('/no/such/file', options);
    await expect(loading).rejects.toMatchObject({ code: 'invalid_argument', details: { field: 'contextLenght' } });
  });

  it('leaves nothing behind when it fails', async () => {
    backend.beforeLoad = () => Promise.reject(new Error('disk'));
    await expect(loadModel(tinyLlama, { backend })).rejects.toThrow('disk');
  });

  it('disposes of the backend with the model when told to', async () => {
    const model = await loadModel(tinyLlama, { backend, ownsBackend: true });
    expect(backend.isDisposed).toBe(false);
    await model.dispose();
    expect(backend.isDisposed).toBe(true);
  });
});
