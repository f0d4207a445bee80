import { InvalidArgumentError, NumericError, noTokenAllowed, type RowOutput, type StepResult } from '@hearth/core';
import { createSampler, createTokenMask, sampleFromRow, type TokenMask } from '@hearth/sampler';
import { beforeAll, describe, expect, it } from 'vitest';
import { firstBlocks, makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/first-difference.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { weightSource } from './__fixtures__/weight-source.ts';

// Every comparison of results in this file is of bits: the numerics contract, not closeness.

describe('the contract', () => {
  const tokens = someTokens(130);
  let whole: StepResult;

  beforeAll(async () => {
    whole = await prefill(await tinyLlama(), tokens);
  });

  it.each([1, 7, 64])('gives the same logits when the prompt comes in chunks of %i', async (chunk) => {
    const chunked = await prefill(await tinyLlama(), tokens, { chunk });
    expect(firstDifference(chunked.logits, whole.logits)).toBeNull();
  });

  it.each([
    [16, 'f16'],
    [32, 'f16'],
    [64, 'f16'],
    [64, 'f32'],
    [32, 'q8'],
    [64, 'q8'],
  ] as const)('gives the same logits with blocks of %i, shuffled (%s)', async (blockSize, cacheDtype) => {
    const inOrder = cacheDtype === 'f16' ? whole : await prefill(await tinyLlama({ cacheDtype }), tokens);
    const executable = await tinyLlama({ blockSize, cacheDtype });
    const blocks = firstBlocks(executable, tokens.length).map((block) => (block * 11 + 5) % 64);
    const shuffled = await prefill(executable, tokens, { chunk: 50, blocks });
    expect(firstDifference(shuffled.logits, inOrder.logits)).toBeNull();
  });

  it.each(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'q5_1', 'iq4_nl', 'int4_g32', 'f8_e4m3'] as const)(
    'gives a sequence the same logits alone and among others (%s weights)',
    async (dtype) => {
      const prompts = [someTokens(3), someTokens(17).reverse(), someTokens(40), [5]];
      const alone = await Promise.all(
        prompts.map(async (prompt) => (await prefill(await tinyLlama({ dtype }), prompt)).logits!),
      );
      const executable = await tinyLlama({ dtype });
      let nextBlock = 0;
      const parts = prompts.map((tokenIds) => {
        const blocks = Array.from({ length: Math.ceil(tokenIds.length / 16) }, () => nextBlock++);
        return { tokenIds, start: 0, blocks };
      });
      const together = await executable.step(makeBatch(parts));
      for (const [s, logits] of alone.entries()) {
        expect(firstDifference(together.logits!.slice(s * 96, (s + 1) * 96), logits), `sequence ${s}`).toBeNull();
      }
    },
  );

  it('mixes prefill, decode and runs of several tokens in one step', async () => {
    const long = someTokens(70);
    const executable = await tinyLlama();
    const [first, second] = [
      [0, 1, 2, 3, 4],
      [5, 6, 7, 8, 9],
    ];
    await executable.step(makeBatch([{ tokenIds: long.slice(0, 66), start: 0, blocks: first }]));
    const mixed = await executable.step(
      makeBatch([
        { tokenIds: long.slice(66), start: 66, blocks: first, outputs: [0, 3] },
        { tokenIds: long.slice(0, 30), start: 0, blocks: second },
      ]),
    );
    const rows = [67, 70, 30].map(async (length) => (await prefill(await tinyLlama(), long.slice(0, length))).logits!);
    for (const [r, logits] of (await Promise.all(rows)).entries()) {
      expect(firstDifference(mixed.logits!.slice(r * 96, (r + 1) * 96), logits), `row ${r}`).toBeNull();
    }
  });

  it('gives the same bits fused and unfused, in every boundary', async () => {
    const prompt = someTokens(20);
    for (const dtype of ['f32', 'q4_1'] as const) {
      const fused = await prefill(await tinyLlama({ dtype, lower: { captures: 'all' } }), prompt);
      const unfused = await prefill(await tinyLlama({ dtype, lower: { captures: 'all', fuse: false } }), prompt);
      expect(firstDifference(unfused.logits, fused.logits)).toBeNull();
      expect([...unfused.captures!.keys()].sort()).toEqual([...fused.captures!.keys()].sort());
      for (const [name, values] of fused.captures!) {
        expect(firstDifference(unfused.captures!.get(name), values), name).toBeNull();
      }
    }
  });

  it('decodes across groups of 512 positions with what recomputing from scratch gives', async () => {
    const context = someTokens(610);
    const options = { config: { num_hidden_layers: 1 }, dtype: 'q8_0', maxTokens: 640 } as const;
    const cached = await tinyLlama(options);
    const blocks = firstBlocks(cached, context.length);
    // One token at a time around the border of the groups (505 … 519) and at the end, chunks in between.
    const cuts = [0, ...Array.from({ length: 16 }, (_, i) => 505 + i), 609, 610];
    const decoded = new Map<number, StepResult>();
    for (const [i, start] of cuts.slice(0, -1).entries()) {
      const end = cuts[i + 1]!;
      const batch = makeBatch([{ tokenIds: context.slice(start, end), start, blocks }]);
      decoded.set(end - 1, await cached.step(batch));
    }
    const positions = [505, 511, 512, 513, 519, 609];
    const fresh = await tinyLlama(options);
    const scratch = await fresh.step(makeBatch([{ tokenIds: context, start: 0, blocks, outputs: positions }]));
    for (const [r, position] of positions.entries()) {
      const row = scratch.logits!.slice(r * 96, (r + 1) * 96);
      expect(firstDifference(decoded.get(position)!.logits, row), `position ${position}`).toBeNull();
    }
  });

  it('sees only the window of a windowed layer', async () => {
    // A program like the tiny one, its attention limited to 20 positions: tokens further back change nothing.
    const windowed = async (tokens: number[]) => {
      const executable = await tinyLlama({
        config: { num_hidden_layers: 1 },
        editProgram: (program) => ({
          ...program,
          cacheGroups: [{ window: 20 }],
          ops: program.ops.map((op) => (op.kind === 'attention' ? { ...op, window: 20 } : op)),
        }),
      });
      return (await prefill(executable, tokens)).logits;
    };
    const prompt = someTokens(100);
    const changedFar = prompt.map((id, p) => (p < 80 ? (id + 1) % 96 : id));
    const changedNear = prompt.map((id, p) => (p < 81 ? (id + 1) % 96 : id));
    expect(await windowed(changedFar)).toEqual(await windowed(prompt));
    expect(await windowed(changedNear)).not.toEqual(await windowed(prompt));
  });
});

describe('embed', () => {
  const embedded = async (tokens: readonly number[], change: { ids?: 'positions'; scale?: number }) => {
    const executable = await tinyLlama({
      lower: { captures: ['model.embed_tokens'] },
      // As many positions as the table has rows.
      editProgram: (program) => ({
        ...program,
        contextLength: 96,
        ops: program.ops.map((op) => (op.kind === 'embed' ? { ...op, ...change } : op)),
      }),
    });
    return (await prefill(executable, tokens)).captures!.get('model.embed_tokens')!;
  };

  it('looks up positions when asked', async () => {
    expect(await embedded([9, 9, 9], { ids: 'positions' })).toEqual(await embedded([0, 1, 2], {}));
  });

  it('multiplies by its scale, rounded to f32', async () => {
    const scale = Math.fround(Math.sqrt(65));
    const plain = await embedded([3, 4], {});
    const scaled = await embedded([3, 4], { scale: Math.sqrt(65) });
    expect(scaled).toEqual(plain.map((value) => Math.fround(value * scale)));
  });
});

describe('outputs', () => {
  it('gives hidden rows, whose product with the head are the logits', async () => {
    const executable = await tinyLlama({ lower: { captures: ['model.norm'] } });
    const { hidden, captures, logits } = await prefill(executable, [1, 2, 3], { output: { kind: 'hidden' } });
    expect(hidden).toEqual(captures!.get('model.norm'));
    expect(hidden).toHaveLength(64);
    expect(logits).toBeUndefined();
  });

  it('gives of each row what is asked of it, and the logits of all', async () => {
    const batch = makeBatch([{ tokenIds: [1, 2, 3, 4], start: 0, blocks: [0], outputs: [0, 1, 2, 3] }]);
    const executable = await tinyLlama();
    const logits = (await executable.step(batch)).logits!.slice();
    const history = { promptTokenIds: [1, 2], completionTokenIds: [] };
    const plain = createSampler({ seed: 5n }, { vocabSize: 96 }).sampleRow(history)!;
    const sampleOf = (mask: TokenMask) => ({ kind: 'sample', ...plain, mask }) as const;
    const sample = sampleOf(createTokenMask(96, [7, 9, 90]));
    const none = sampleOf(new Uint32Array(3));
    const rows: RowOutput[] = [{ kind: 'logprob', tokenId: 95 }, sample, { kind: 'logits' }, none];
    const result = await executable.step(batch, { output: { kind: 'rows', rows } });
    const [first, second] = [0, 1].map((r) => logits.subarray(r * 96, (r + 1) * 96)) as [Float32Array, Float32Array];
    const exact = first[95]! - Math.log(first.reduce((sum, logit) => sum + Math.exp(logit), 0));
    expect(result.logprobs![0]).toBeCloseTo(exact, 5);
    expect([...result.logprobs!.subarray(1)]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect([...result.argmax!]).toEqual([first.indexOf(Math.max(...first)), -1, -1, -1]);
    expect([...result.sampled!]).toEqual([-1, sampleFromRow(second, sample), -1, noTokenAllowed]);
    expect(firstDifference(result.logits, logits)).toBeNull();
  });

  it('gives no rows when none are wanted, and fills the cache all the same', async () => {
    const executable = await tinyLlama();
    const prompt = someTokens(10);
    const batch = makeBatch([{ tokenIds: prompt.slice(0, 9), start: 0, blocks: [0], outputs: [] }]);
    expect((await executable.step(batch)).logits).toHaveLength(0);
    const last = await executable.step(makeBatch([{ tokenIds: prompt.slice(9), start: 9, blocks: [0] }]));
    expect(firstDifference(last.logits, (await prefill(await tinyLlama(), prompt)).logits)).toBeNull();
  });

  it('refuses rows that do not fit the batch or the vocabulary', async () => {
    const executable = await tinyLlama();
    const batch = makeBatch([{ tokenIds: [1], start: 0, blocks: [0] }]);
    const logprob = (tokenId: number) => ({ kind: 'logprob', tokenId }) as const;
    for (const rows of [[], [logprob(1), logprob(2)], [logprob(96)], [logprob(-1)], [logprob(0.5)]]) {
      await expect(executable.step(batch, { output: { kind: 'rows', rows } })).rejects.toThrow(InvalidArgumentError);
    }
  });

  it('times every op when asked', async () => {
    const executable = await tinyLlama();
    const { profile } = await prefill(executable, [1, 2, 3], { profile: true });
    expect(profile!.map(({ op }) => op)).toEqual(executable.program.ops.map((_, index) => index));
    expect(profile!.every(({ nanoseconds }) => nanoseconds >= 0)).toBe(true);
    expect((await prefill(executable, [1])).profile).toBeUndefined();
  });
});

describe('values out of range', () => {
  const poison = (name: string, value: number) => (sources: Map<string, ReturnType<typeof weightSource>>) => {
    const { shape } = sources.get(name)!;
    sources.set(name, weightSource(name, shape, new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(value)));
  };

  it.each([
    ['model.layers.1.post_attention_layernorm', Number.NaN, 'model.layers.1.post_attention_layernorm'],
    ['model.layers.0.self_attn.k_proj', Number.POSITIVE_INFINITY, 'model.layers.0.self_attn.q_proj+k_proj+v_proj'],
    ['model.layers.0.mlp.down_proj', 3e38, 'model.layers.0.mlp.down_proj'],
  ])('names the op that first gave no finite value: %s = %f', async (boundary, value, op) => {
    const executable = await tinyLlama({ edit: poison(`${boundary}.weight`, value) });
    const step = prefill(executable, [1, 2, 3]);
    await expect(step).rejects.toThrow(NumericError);
    await expect(step).rejects.toMatchObject({ op });
  });

  it('names the sum of a fused add, not the norm after it', async () => {
    // Two biases that are finite on their own; their sum, the output of layer 0, is not.
    const executable = await tinyLlama({
      config: { attention_bias: true, mlp_bias: true },
      edit: (sources) => {
        poison('model.layers.0.self_attn.o_proj.bias', 3e38)(sources);
        poison('model.layers.0.mlp.down_proj.bias', 3e38)(sources);
      },
    });
    const fused = executable.program.ops.find((op) => op.kind === 'add-rms-norm' && op.sumName === 'model.layers.0');
    expect(fused?.name).toBe('model.layers.1.input_layernorm');
    await expect(prefill(executable, [1])).rejects.toMatchObject({ code: 'numeric', op: 'model.layers.0' });
  });

  it('refuses values that do not fit an f16 cache, which an f32 cache holds', async () => {
    const name = 'model.layers.0.self_attn.v_proj.weight';
    const edit = (sources: Map<string, ReturnType<typeof weightSource>>) => poison(name, 1e4)(sources);
    const f16 = prefill(await tinyLlama({ edit }), [1, 2, 3]);
    await expect(f16).rejects.toThrow(NumericError);
    await expect(f16).rejects.toMatchObject({ op: 'model.layers.0.self_attn.kv_cache' });
    await expect(f16).rejects.toThrow(/v at position \d+, head \d+\) does not fit the f16 cache/);
    await expect(prefill(await tinyLlama({ edit, cacheDtype: 'f32' }), [1, 2, 3])).resolves.toBeDefined();
  });

  it('can go on after a failed step', async () => {
    const executable = await tinyLlama();
    const good = await prefill(executable, [1, 2, 3]);
    await expect(prefill(executable, [1, 2, 99])).rejects.toThrow(InvalidArgumentError);
    expect(firstDifference((await prefill(executable, [1, 2, 3])).logits, good.logits)).toBeNull();
  });
});
