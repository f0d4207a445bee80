import { fileURLToPath } from 'node:url';
import { type Checkpoint, type CheckpointTensor, encodeElements, openCheckpoint, readTensor } from '@hearth/checkpoint';
import { type Backend, MemoryFile, type WeightDtype } from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kernelsOrNull } from './__fixtures__/kernels-or-null.ts';
import { describeReport } from './describe-report.ts';
import { findGoldens } from './find-goldens.ts';
import { type Goldens, openGoldens } from './goldens.ts';
import { planReplay, type ReplayOptions, replayGoldens } from './replay.ts';

const fixture = fileURLToPath(new URL('../fixtures/tiny-llama/', import.meta.url));

const kernels = await kernelsOrNull();

let backend: Backend;
let goldens: Goldens;
let checkpoint: Checkpoint;

beforeAll(async () => {
  backend = createReferenceBackend();
  goldens = await openGoldens(fixture);
  checkpoint = await openCheckpoint(`${fixture}model`, { fileMapper: backend.fileMapper });
});

afterAll(async () => {
  await checkpoint.close();
  // Both throw if a replay has left weights or executables behind.
  await backend.dispose();
  await kernels?.dispose();
});

const replay = (options: Partial<ReplayOptions> = {}) => replayGoldens({ checkpoint, backend, goldens, ...options });

/** The same object with some members replaced, also one whose methods need their own `this`. */
function override<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      const value = key in members ? members[key as keyof T] : target[key as keyof T];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The same model with each matrix in another type, its vectors in f32. */
async function stored(dtype: WeightDtype): Promise<Checkpoint> {
  const tensors = new Map<string, CheckpointTensor>();
  for (const [name, tensor] of checkpoint.tensors) {
    const type = dtype === 'bf16' || tensor.shape.length === 2 ? dtype : 'f32';
    const bytes = encodeElements(type, await readTensor(tensor));
    tensors.set(name, {
      ...tensor,
      dtype: type,
      file: new MemoryFile(bytes, name),
      offset: 0,
      byteLength: bytes.length,
    });
  }
  return { ...checkpoint, tensors };
}

describe('the tiny Llama on the reference backend', () => {
  it('computes what Transformers computes: tables, boundaries, cache and greedy tokens', async () => {
    const report = await replay();
    expect(report.firstMismatch).toBeNull();
    expect(report.wrongWeights).toEqual([]);
    // Every tensor of the manifest but the two that are inputs.
    expect(report.comparisons.map(({ key }) => key)).toEqual(
      [...goldens.manifest.tensors.keys()].filter((key) => !/^rms_norm\/(input|weight)$/.test(key)),
    );
    expect(report.greedy.map(({ name, got }) => ({ name, got }))).toEqual(
      goldens.manifest.greedy.prompts.map(({ name, runs }) => ({ name, got: runs.float32.ids })),
    );
    expect(report.passed).toBe(true);
  });

  it('gives the tokens of bfloat16-rounded weights, rounded here or stored so', async () => {
    const expected = goldens.manifest.greedy.prompts.slice(0, 2).map(({ runs }) => runs.bfloat16.ids);
    const prompts = goldens.manifest.greedy.prompts.slice(0, 2).map(({ name }) => name);
    for (const options of [{ weights: 'bfloat16' as const }, { checkpoint: await stored('bf16') }]) {
      const report = await replay({ ...options, prompts });
      expect(report).toMatchObject({ run: 'bfloat16', comparisons: [], passed: true });
      expect(report.greedy.map(({ got }) => got)).toEqual(expected);
    }
  });

  it('reports the share of tokens that quantized weights agree on, and judges it not', async () => {
    const report = await replay({ checkpoint: await stored('q8_0'), weights: 'stored' });
    expect(report).toMatchObject({ weights: 'stored', run: 'float32', comparisons: [], passed: true });
    for (const { mode, numEqual, expected } of report.greedy) {
      expect(mode).toBe('forced');
      // Random weights: 8 bits leave most of the tokens, not all of them.
      expect(numEqual).toBeGreaterThan(expected.length / 2);
    }
    expect(describeReport(report).at(-1)).toMatch(/greedy .*: \d+ of \d+ tokens agree with float32 \(\d+\.\d%\)/);
  });

  it('decodes quantized weights, and says that they are not those of the goldens', async () => {
    const report = await replay({ checkpoint: await stored('q8_0'), weights: 'float32', prompts: [] });
    expect(report.passed).toBe(false);
    const matrices = [...checkpoint.tensors.values()].filter(({ shape }) => shape.length === 2);
    expect([...report.wrongWeights].sort()).toEqual(matrices.map(({ name }) => name).sort());
    expect(report.firstMismatch!.key).toBe('prefill/model.embed_tokens');
  });
});

describe('the tiny Llama on the native kernels', () => {
  it.skipIf(!kernels)('computes the very values and tokens of the reference', async () => {
    const native = await openCheckpoint(`${fixture}model`, { fileMapper: kernels!.fileMapper });
    try {
      const report = await replay({ checkpoint: native, backend: kernels! });
      expect(report.passed).toBe(true);
      const reference = await replay();
      expect({ ...report, backend: null }).toEqual({ ...reference, backend: null });
    } finally {
      await native.close();
    }
  });
});

describe('a fault is named by the first boundary that it changes', () => {
  const swapped = (a: string, b: string): Checkpoint => {
    const tensors = new Map(checkpoint.tensors);
    for (let layer = 0; layer < 2; layer++) {
      const [first, second] = [a, b].map((name) => `model.layers.${layer}.${name}.weight`) as [string, string];
      tensors.set(first, checkpoint.tensors.get(second)!).set(second, checkpoint.tensors.get(first)!);
    }
    return { ...checkpoint, tensors };
  };
  const configured = (changes: Record<string, unknown>): Checkpoint => ({
    ...checkpoint,
    config: { ...checkpoint.config, ...changes },
  });

  it.each<[string, () => Checkpoint, string]>([
    ['the epsilon of RMSNorm', () => configured({ rms_norm_eps: 1e-6 }), 'prefill/model.layers.0.input_layernorm'],
    ['the base of RoPE', () => configured({ rope_theta: 10100 }), 'rope/inv_freq'],
    ['gate and up swapped', () => swapped('mlp.gate_proj', 'mlp.up_proj'), 'prefill/model.layers.0.mlp.gate_proj'],
    [
      'k and v swapped',
      () => swapped('self_attn.k_proj', 'self_attn.v_proj'),
      'prefill/model.layers.0.self_attn.k_proj',
    ],
  ])('%s', async (_, faulty, firstBoundary) => {
    const report = await replay({ checkpoint: faulty(), prompts: [] });
    expect(report.passed).toBe(false);
    expect(report.firstMismatch!.key).toBe(firstBoundary);
    expect(describeReport(report).join('\n')).toContain(`first at ${firstBoundary} [`);
  });

  it('in the cache, when only the cache is wrong', async () => {
    const forgetful = override(backend, {
      compile: async (...args) => {
        const executable = await backend.compile(...args);
        const cache = override(executable.cache, {
          readLayer: async (...layerArgs) => {
            const { k, v } = await executable.cache.readLayer(...layerArgs);
            v[5]! += 0.01;
            return { k, v };
          },
        });
        return override(executable, { cache });
      },
    });
    const report = await replay({ backend: forgetful, prompts: [] });
    expect(report.firstMismatch).toMatchObject({ key: 'cache/before/v', worst: { coordinates: [0, 0, 5] } });
  });

  it('in greedy tokens, with the place', async () => {
    const manifest = structuredClone(goldens.manifest);
    (manifest.greedy.prompts[0]!.runs.float32.ids as number[])[3] = 5;
    const prompts = [manifest.greedy.prompts[0]!.name];
    const report = await replay({ goldens: { ...goldens, manifest }, prompts });
    expect(report.passed).toBe(false);
    expect(report.greedy[0]).toMatchObject({ firstDifference: 3 });
    expect(describeReport(report).at(-1)).toMatch(/^WRONG greedy .*: token 3 is \d+, expected 5$/);
  });
});

describe('planReplay', () => {
  it.each([
    [['q4_1', 'f32'], undefined, { weights: 'float32', mode: 'generated', comparesTensors: true }],
    [['bf16'], undefined, { weights: 'stored', run: 'bfloat16', mode: 'generated', comparesTensors: false }],
    [['bf16'], 'float32', { weights: 'float32', run: 'float32', comparesTensors: true }],
    [['f32'], 'stored', { run: 'float32', mode: 'generated', comparesTensors: true }],
    [['f32'], 'bfloat16', { run: 'bfloat16', mode: 'generated', comparesTensors: false }],
    [['q4_1', 'f32'], 'stored', { run: 'float32', mode: 'forced', comparesTensors: false }],
    [['f16', 'f32'], 'stored', { mode: 'forced' }],
  ] as const)('weights stored as %j, wanted as %s', (dtypes, wanted, plan) => {
    expect(planReplay(new Set(dtypes), wanted)).toMatchObject(plan);
  });
});

describe('findGoldens', () => {
  it('knows a model by its sizes and final norm, also when it was rounded', async () => {
    expect(await findGoldens(checkpoint, [goldens])).toBe(goldens);
    expect(await findGoldens(await stored('bf16'), [goldens])).toBe(goldens);
  });

  it('does not take another model of the same sizes for it', async () => {
    const tensors = new Map(checkpoint.tensors);
    const norm = tensors.get('model.norm.weight')!;
    const bytes = encodeElements(
      'f32',
      (await readTensor(norm)).map((value) => value * 1.02),
    );
    tensors.set('model.norm.weight', { ...norm, file: new MemoryFile(bytes), offset: 0 });
    expect(await findGoldens({ ...checkpoint, tensors }, [goldens])).toBeNull();
  });

  it('does not take a model of other sizes for it', async () => {
    const config = { ...checkpoint.config, num_hidden_layers: 3 };
    expect(await findGoldens({ ...checkpoint, config }, [goldens])).toBeNull();
  });
});

describe('openGoldens', () => {
  it('refuses a folder without goldens', async () => {
    await expect(openGoldens(`${fixture}model`)).rejects.toThrow(/manifest.json cannot be read/);
  });
});
