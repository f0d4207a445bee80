import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortError, decodeElements, InvalidArgumentError, MemoryFile, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting } from '../__fixtures__/gguf-bytes.ts';
import { temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { readTensor } from '../tensor/read-tensor.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import { type GgufMetadataToWrite, type GgufTypedValue, metadataOf } from './metadata-encoder.ts';
import { readGguf } from './read-gguf.ts';
import { writeGguf, writeRawGguf } from './write-gguf.ts';

const directory = await temporaryDirectory();
let count = 0;
const newPath = () => join(directory, `${count++}.gguf`);

function tensor(name: string, shape: number[], start = 0): TensorToWrite {
  const length = shape.reduce((product, dim) => product * dim, 1);
  return { name, dtype: 'f32', shape, data: () => counting(length, start) };
}

const config = {
  model_type: 'llama',
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  rms_norm_eps: 1e-5,
  rope_theta: 50_000,
  max_position_embeddings: 64,
  vocab_size: 16,
};

function llamaTensors(headDim = 4): TensorToWrite[] {
  const prefix = 'model.layers.0';
  return [
    tensor('model.embed_tokens.weight', [16, 8]),
    tensor(`${prefix}.self_attn.q_proj.weight`, [2 * headDim, 8]),
    tensor(`${prefix}.self_attn.q_proj.bias`, [2 * headDim]),
    tensor(`${prefix}.self_attn.k_proj.weight`, [headDim, 8]),
    tensor(`${prefix}.self_attn.v_proj.weight`, [headDim, 8]),
    tensor('lm_head.weight', [16, 8]),
  ];
}

describe('reading what another writer wrote', () => {
  it('gives metadata and tensors of the gguf Python package', async () => {
    const path = fileURLToPath(new URL('./__fixtures__/python-written.gguf', import.meta.url));
    const header = await readGguf(path);
    expect(header.metadata.get('general.name')).toBe('écrit by Python');
    expect(header.metadata.get('test.u64')).toBe(2n ** 63n + 1n);
    expect(header.metadata.get('test.i64')).toBe(-(2n ** 53n) - 1n);
    expect(header.metadata.get('test.f64')).toBe(0.1);
    expect(header.metadata.get('test.bool')).toBe(true);
    expect(header.metadata.get('test.strings')).toEqual(['a', '', '雪']);
    expect(header.metadata.get('test.ints')).toEqual(Int32Array.of(1, -2, 3));
    expect(header.metadata.get('test.floats')).toEqual(Float32Array.of(0.5, -1.5));
    const bytes = await readFile(path);
    for (const { name, dtype, shape, offset, byteLength } of header.tensors) {
      expect(dtype).toBe(name);
      expect(shape).toEqual(name === 'f16' ? [1, 32] : [3, 32]);
      const values = decodeElements(dtype as 'f32', bytes.subarray(offset, offset + byteLength));
      // The tensor counts 0, 1, 2 ... 95. A row of 32 spans 31, so q4_1 steps are 31 / 15 and q8_0 steps at most 95 / 127;
      // q4_0 has 8 steps up to the extreme (95 / 8), its far end a whole step off. All are within one step, plus f16 rounding.
      const step = { q4_0: 95 / 8, q4_1: 31 / 15, q8_0: 95 / 127 }[dtype] ?? 0;
      for (const [i, value] of values.entries()) expect(Math.abs(value - i)).toBeLessThanOrEqual(step * 1.01);
    }
  });
});

describe('writeRawGguf', () => {
  it('writes every type of value, read back the same', async () => {
    const metadata = new Map<string, GgufTypedValue | string | boolean>([
      ['text', 'é\u0000雪'],
      ['flag', true],
      ['u8', { type: 'u8', value: 255 }],
      ['i8', { type: 'i8', value: -128 }],
      ['u16', { type: 'u16', value: 65535 }],
      ['i16', { type: 'i16', value: -32768 }],
      ['u32', { type: 'u32', value: 4294967295 }],
      ['i32', { type: 'i32', value: -2147483648 }],
      ['u64', { type: 'u64', value: 2n ** 64n - 1n }],
      ['u64 small', { type: 'u64', value: 5 }],
      ['i64', { type: 'i64', value: -(2n ** 63n) }],
      ['f32', { type: 'f32', value: 0.5 }],
      ['f64', { type: 'f64', value: 0.1 }],
      ['numbers', { type: 'array<i16>', value: Int16Array.of(-1, 2) }],
      ['strings', { type: 'array<string>', value: ['', 'b'] }],
      ['flags', { type: 'array<bool>', value: [false, true] }],
      ['nested', { type: 'array<array<u8>>', value: [Uint8Array.of(1), Uint8Array.of()] }],
    ]);
    const path = newPath();
    await writeRawGguf(path, { metadata, tensors: [] });
    const header = await readGguf(path);
    for (const [key, typed] of metadata) {
      const expected = typeof typed === 'object' ? typed.value : typed;
      expect(header.metadata.get(key), key).toEqual(expected);
    }
    // A second file with the metadata of the first is the same file.
    const copy = newPath();
    await writeRawGguf(copy, { metadata: metadataOf(header), tensors: [] });
    expect(await readFile(copy)).toEqual(await readFile(path));
    expect([...metadataOf(header, 'u64').keys()]).toEqual(['u64', 'u64 small']);
  });

  it('writes plain arrays of numbers where a typed array is not at hand', async () => {
    const path = newPath();
    await writeRawGguf(path, {
      metadata: new Map([['x', { type: 'array<u32>', value: [1, 2] as never }]]),
      tensors: [],
    });
    expect((await readGguf(path)).metadata.get('x')).toEqual(Uint32Array.of(1, 2));
  });

  it('writes a header that is longer than its first buffer', async () => {
    const tokens = Array.from({ length: 40_000 }, (_, i) => `token ${i}`);
    const path = newPath();
    await writeRawGguf(path, {
      metadata: new Map([['t', { type: 'array<string>', value: tokens }]]),
      tensors: [tensor('x', [8])],
    });
    const header = await readGguf(path);
    expect((header.metadata.get('t') as string[]).join() === tokens.join()).toBe(true);
    expect(header.tensors[0]).toMatchObject({ name: 'x', byteLength: 32 });
  });

  it('refuses values that their types cannot hold, by key', async () => {
    const wrong: GgufTypedValue[] = [
      { type: 'u8', value: 256 },
      { type: 'u8', value: -1 },
      { type: 'i8', value: 128 },
      { type: 'u32', value: 1.5 },
      { type: 'u32', value: Number.NaN },
      { type: 'u64', value: 2n ** 64n },
      { type: 'i64', value: 'x' },
      { type: 'f32', value: 1n },
      { type: 'bool', value: 1 },
      { type: 'string', value: 1 },
      { type: 'array<u8>', value: 1 },
      { type: 'array<u8>', value: 'text' },
      { type: 'array<string>', value: [1 as never] },
      { type: 'u128' as never, value: 1 },
    ];
    for (const value of wrong) {
      const write = writeRawGguf(newPath(), { metadata: new Map([['the.key', value]]), tensors: [] });
      await expect(
        write,
        JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}` : v)),
      ).rejects.toThrow(/"the\.key"/);
    }
  });

  it('streams data from generators and promises, aligned, in order', async () => {
    const tensors: TensorToWrite[] = [
      { name: 'a', dtype: 'f32', shape: [3], data: async () => counting(3) },
      {
        name: 'b',
        dtype: 'q4_0',
        shape: [2, 32],
        async *data() {
          yield new Uint8Array(10).fill(1);
          yield new Uint8Array(0);
          yield new Uint8Array(26).fill(2);
        },
      },
    ];
    const path = newPath();
    await writeRawGguf(path, { metadata: new Map(), tensors });
    const bytes = await readFile(path);
    const header = await readGguf(new MemoryFile(bytes));
    const [a, b] = header.tensors;
    expect(a!.offset % 32).toBe(0);
    expect(b!.offset % 32).toBe(0);
    expect([...bytes.subarray(b!.offset, b!.offset + 36)]).toEqual([
      ...new Array(10).fill(1),
      ...new Array(26).fill(2),
    ]);
    expect(bytes.length % 32).toBe(0);
  });

  it('leaves nothing behind, and the old file in place, when something fails', async () => {
    const path = newPath();
    await writeRawGguf(path, { metadata: new Map(), tensors: [tensor('old', [1])] });
    const before = await readFile(path);
    const failing: [TensorToWrite, RegExp][] = [
      [
        { ...tensor('x', [4]), data: () => new Uint8Array(15) },
        /"x" \(f32, \[4\]\) takes 16 bytes, but its data has 15/,
      ],
      [{ ...tensor('x', [4]), data: () => new Uint8Array(17) }, /its data has more/],
      [{ ...tensor('x', [4]), data: () => Promise.reject(new Error('no disk')) }, /no disk/],
    ];
    for (const [bad, message] of failing) {
      await expect(writeRawGguf(path, { metadata: new Map(), tensors: [bad] })).rejects.toThrow(message);
    }
    const signal = AbortSignal.abort();
    await expect(writeRawGguf(path, { metadata: new Map(), tensors: [tensor('x', [1])] }, { signal })).rejects.toThrow(
      AbortError,
    );
    expect(await readFile(path)).toEqual(before);
    expect((await readdir(directory)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('refuses tensors that the format does not have', async () => {
    const cases: [TensorToWrite[], RegExp][] = [
      [[tensor('x', [1]), tensor('x', [1])], /"x" is there twice/],
      [[tensor('', [1])], /empty name/],
      [[{ ...tensor('x', [1]), dtype: 'f8_e4m3' }], /type f8_e4m3/],
      [[{ ...tensor('x', [1]), dtype: 'Q4_0' }], /type Q4_0/],
      [[{ ...tensor('x', [48]), dtype: 'q4_0' }], /multiple of 32 columns/],
      [[tensor('x', [])], /shape \[\]/],
      [[tensor('x', [0])], /shape \[0\]/],
      [[tensor('x', [1, 1, 1, 1, 1])], /1 to 4 dimensions/],
      [[tensor('x', [1.5])], /whole dimensions/],
    ];
    for (const [tensors, message] of cases) {
      const write = writeRawGguf(newPath(), { metadata: new Map(), tensors });
      await expect(write).rejects.toThrow(message);
      await expect(write).rejects.toThrow(InvalidArgumentError);
    }
  });
});

describe('writeGguf', () => {
  it('writes a Llama that opens with the same config, names and values', async () => {
    const path = newPath();
    await writeGguf(path, { config, name: 'twin', tensors: llamaTensors() });
    const checkpoint = await openCheckpoint(path);
    expect(checkpoint.name).toBe('twin');
    expect(checkpoint.config).toMatchObject({ ...config, head_dim: 4, rope_scaling: null, tie_word_embeddings: false });
    for (const { name, shape } of llamaTensors()) {
      const values = await readTensor(checkpoint.tensors.get(name)!);
      expect(checkpoint.tensors.get(name)!.shape).toEqual(shape);
      expect([...values], name).toEqual(Array.from(values, (_, i) => i));
    }
    await checkpoint.close();
  });

  it('puts the query rows where GGUF readers of Llama expect them', async () => {
    const path = newPath();
    await writeGguf(path, { config, tensors: llamaTensors() });
    const { tensors } = await readGguf(path);
    const query = tensors.find(({ name }) => name === 'blk.0.attn_q.bias')!;
    const bytes = await readFile(path);
    // Rows 0, 1 of the first half and 2, 3 of the second lie in pairs: 0, 2, 1, 3.
    expect([...decodeElements('f32', bytes.subarray(query.offset, query.offset + query.byteLength))]).toEqual([
      0, 2, 1, 3, 4, 6, 5, 7,
    ]);
  });

  it('lets metadata win over the config, and takes metadata alone', async () => {
    const path = newPath();
    const metadata: GgufMetadataToWrite = new Map([['llama.context_length', { type: 'u32', value: 99 }]]);
    await writeGguf(path, { config, metadata, tensors: llamaTensors() });
    const header = await readGguf(path);
    expect(header.metadata.get('llama.context_length')).toBe(99);
    const again = newPath();
    await writeGguf(again, { metadata: metadataOf(header), tensors: llamaTensors() });
    expect(await readFile(again)).toEqual(await readFile(path));
  });

  it('keeps every form of rope scaling that GGUF has', async () => {
    const headDim = 64;
    const forms: [Record<string, unknown>, unknown][] = [
      [{ rope_scaling: { type: 'linear', factor: 2 } }, { rope_type: 'linear', factor: 2 }],
      [{ rope_scaling: { rope_type: 'default' } }, null],
      [
        { rope_parameters: { rope_type: 'linear', factor: 4, rope_theta: 50_000 }, rope_theta: undefined },
        { rope_type: 'linear', factor: 4 },
      ],
      [
        {
          rope_scaling: {
            rope_type: 'yarn',
            factor: 4,
            original_max_position_embeddings: 32,
            beta_fast: 32,
            beta_slow: 1,
          },
        },
        { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32, beta_fast: 32, beta_slow: 1 },
      ],
      [
        {
          rope_scaling: {
            rope_type: 'llama3',
            factor: 32,
            low_freq_factor: 1,
            high_freq_factor: 4,
            original_max_position_embeddings: 8192,
          },
        },
        {
          rope_type: 'llama3',
          factor: 32,
          low_freq_factor: 1,
          high_freq_factor: 4,
          original_max_position_embeddings: 8192,
        },
      ],
    ];
    for (const [rope, expected] of forms) {
      const path = newPath();
      await writeGguf(path, { config: { ...config, head_dim: headDim, ...rope }, tensors: llamaTensors(headDim) });
      const checkpoint = await openCheckpoint(path);
      expect(checkpoint.config.rope_scaling).toEqual(expected);
      expect(checkpoint.config.rope_theta).toBe(50_000);
      await checkpoint.close();
    }
  });

  it('keeps one or several ids that end a completion', async () => {
    for (const eos_token_id of [2, [2, 5, 7]]) {
      const path = newPath();
      await writeGguf(path, { config: { ...config, bos_token_id: 1, eos_token_id }, tensors: llamaTensors() });
      const checkpoint = await openCheckpoint(path);
      expect(checkpoint.config).toMatchObject({ bos_token_id: 1, eos_token_id });
      await checkpoint.close();
    }
    const tooMany = { config: { ...config, eos_token_id: [1, 2, 3, 4] }, tensors: llamaTensors() };
    await expect(writeGguf(newPath(), tooMany)).rejects.toThrow(/lists 4 ids/);
  });

  it('refuses what it cannot say in GGUF, by name', async () => {
    const write = (model: Partial<Parameters<typeof writeGguf>[1]>) =>
      writeGguf(newPath(), { config, tensors: llamaTensors(), ...model });
    await expect(write({ config: { ...config, model_type: 'qwen9' } })).rejects.toThrow(/"qwen9"/);
    await expect(write({ config: { ...config, hidden_size: undefined } })).rejects.toThrow(/hidden_size is missing/);
    await expect(write({ config: { ...config, hidden_size: '8' } })).rejects.toThrow(
      /hidden_size of the config must be a number/,
    );
    await expect(write({ config: { ...config, rope_scaling: { rope_type: 'spiral' } } })).rejects.toThrow(/"spiral"/);
    await expect(
      write({ config: { ...config, rope_scaling: { type: 'linear', rope_type: 'yarn', factor: 2 } } }),
    ).rejects.toThrow(/both type "linear" and rope_type "yarn"/);
    await expect(write({ tensors: [tensor('model.layers.0.mlp.experts.0.w1.weight', [1])] })).rejects.toThrow(
      UnsupportedError,
    );
    await expect(writeGguf(newPath(), { tensors: [] })).rejects.toThrow(/"general\.architecture"/);
    const noHeads = new Map([['general.architecture', 'llama']]);
    await expect(writeGguf(newPath(), { metadata: noHeads, tensors: llamaTensors() })).rejects.toThrow(
      /"llama\.attention\.head_count" must be a number/,
    );
  });
});
