import { fileURLToPath } from 'node:url';
import { encodeElements } from '@hearth/checkpoint';
import { type QuantizableDtype, type Quantizer, quantizeBlocks, weightByteLength } from '@hearth/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeBackend } from '../test/fake-backend.ts';
import { FakeChatTemplate } from '../test/fake-chat-template.ts';
import { FakeTokenizer } from '../test/fake-tokenizer.ts';
import { hashScript } from '../test/scripts.ts';
import { CountingFileMapper } from './__fixtures__/counting-file-mapper.ts';
import { loadModel } from './load-model.ts';
import type { PrepareModelOptions } from './load-options.ts';
import { prepareModel } from './prepare-model.ts';

// Starting their workers takes a second from sources; tiny-llama.test.ts has the real ones.
vi.mock('@hearth/tokenizer', async (original) => ({
  ...(await original<typeof import('@hearth/tokenizer')>()),
  loadTokenizer: async () => new FakeTokenizer(),
}));

vi.mock('@hearth/chat-format', async (original) => ({
  ...(await original<typeof import('@hearth/chat-format')>()),
  loadChatTemplate: async () => new FakeChatTemplate(),
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

describe('quantize', () => {
  /** The model's weights as the backend was given them: name to type and bytes. */
  async function givenWeights(options: Partial<PrepareModelOptions>) {
    const loadWeights = vi.spyOn(backend, 'loadWeights');
    const reads: Promise<[string, { dtype: string; bytes: Uint8Array }]>[] = [];
    loadWeights.mockImplementationOnce((specs, sources, loadOptions) => {
      // While the files are open.
      for (const { name, dtype, file, offset, byteLength } of sources.values()) {
        reads.push(file.read(offset, byteLength).then((bytes) => [name, { dtype, bytes }]));
      }
      return Promise.all(reads).then(() =>
        FakeBackend.prototype.loadWeights.call(backend, specs, sources, loadOptions),
      );
    });
    const model = await loadModel(tinyLlama, { backend, ...options });
    await model.dispose();
    loadWeights.mockRestore();
    return { info: model.info, weights: new Map(await Promise.all(reads)) };
  }

  it('puts weights into types as they are loaded, and says so', async () => {
    const stored = await givenWeights({});
    const { info, weights } = await givenWeights({ quantize: 'q8_0' });
    // 16 matrices of 98,304 elements, 5 norms of 64.
    expect(info.weightDtypes).toEqual({
      q8_0: { tensors: 16, bytes: (98_304 / 32) * 34 },
      f32: { tensors: 5, bytes: 5 * 64 * 4 },
    });
    expect(info.numParameters).toBe(98_624);
    for (const [name, { bytes }] of stored.weights) {
      const dtype = name.includes('norm') ? 'f32' : 'q8_0';
      const expected = encodeElements(dtype, new Float32Array(bytes.slice().buffer));
      expect(weights.get(name), name).toEqual({ dtype, bytes: expected });
    }
  });

  it('takes a plan, and asks the quantizer of the backend', async () => {
    const asked: string[] = [];
    const quantizer: Quantizer = {
      async quantize(dtype, values) {
        asked.push(dtype);
        return new Uint8Array(weightByteLength(dtype, values.length)).fill(7);
      },
    };
    Object.assign(backend, { quantizer });
    const rules = [{ pattern: '*.v_proj.weight', dtype: 'q8_0' }] as const;
    const { info, weights } = await givenWeights({ quantize: { dtype: 'q4_0', embeddingDtype: 'bf16', rules } });
    expect(info.weightDtypes).toMatchObject({
      q8_0: { tensors: 2 },
      q4_0: { tensors: 12 },
      bf16: { tensors: 2 },
      f32: { tensors: 5 },
    });
    expect(asked).toHaveLength(14);
    expect(weights.get('model.layers.1.self_attn.v_proj.weight')!.bytes.every((byte) => byte === 7)).toBe(true);
  });

  it('makes another model of it, except where nothing changes', async () => {
    const fingerprintOf = async (quantize: PrepareModelOptions['quantize']) => {
      return (await givenWeights({ quantize })).info.fingerprint;
    };
    const original = await fingerprintOf(undefined);
    const quantized = await fingerprintOf('q4_0');
    expect(await fingerprintOf('f32')).toBe(original);
    expect(await fingerprintOf({ dtype: 'q4_0' })).toBe(quantized);
    const rules = [{ pattern: 'lm_head.weight', dtype: 'q8_0' }] as const;
    const others = [await fingerprintOf('q8_0'), await fingerprintOf({ dtype: 'q4_0', rules })];
    expect(new Set([original, quantized, ...others]).size).toBe(4);
  });

  it('refuses what cannot be, before weights are loaded', async () => {
    // Rows of 64 and 96: q5_0 stands in, which this backend does not take.
    await expect(prepareModel(tinyLlama, { backend, quantize: 'q4_k' })).rejects.toThrow(
      /is to be q5_0; this backend takes f32, f16, bf16, q8_0/,
    );
    await expect(prepareModel(tinyLlama, { backend, quantize: 'q4_k_m' as never })).rejects.toThrow(
      /cannot be written as q4_k_m\. There are/,
    );
    await expect(prepareModel(tinyLlama, { backend, quantize: {} as never })).rejects.toThrow(
      /quantize must name types, got undefined/,
    );
    const rules = [{ pattern: '*.bias', dtype: 'q8_0' }] as const;
    await expect(prepareModel(tinyLlama, { backend, quantize: { dtype: 'q4_0', rules } })).rejects.toThrow(
      /"\*\.bias" fits no weight/,
    );
  });

  it('stops in the middle of it when its signal fires', async () => {
    const controller = new AbortController();
    Object.assign(backend, {
      quantizer: {
        async quantize(dtype: QuantizableDtype, values: Float32Array) {
          controller.abort();
          return quantizeBlocks(dtype, values);
        },
      },
    });
    const loading = givenWeights({ quantize: 'q4_0', signal: controller.signal });
    await expect(loading).rejects.toMatchObject({ name: 'AbortError' });
  });
});
