import {
  type Backend,
  type Batch,
  type Executable,
  NumericError,
  type Program,
  type RowOutput,
  type StepResult,
  type WeightSource,
} from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { beforeAll, describe, expect, it } from 'vitest';
import { backendsToCompare, cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { firstBlocks, makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { weightSource } from './__fixtures__/weight-source.ts';

// Every comparison of results in this file is of bits: the numerics contract, not closeness.

async function hiddenOf(executable: Executable, batch: Batch): Promise<Float32Array> {
  return (await executable.step(batch, { output: { kind: 'hidden' } })).hidden!.slice();
}

/** The same program with its hidden rows as columns of a wider buffer, so that they cannot be read in place. */
function withHiddenInWiderBuffer(program: Program): Program {
  const { hidden, buffers, arenaWidth } = program;
  const wider = { rows: 'outputs', width: hidden.width + 32, offset: arenaWidth.outputs } as const;
  const moved = JSON.stringify(hidden);
  const place = JSON.stringify({ ...hidden, buffer: buffers.length, column: 16 });
  return {
    ...program,
    ops: JSON.parse(JSON.stringify(program.ops).replaceAll(moved, place)),
    hidden: JSON.parse(place),
    buffers: [...buffers, wider],
    arenaWidth: { ...arenaWidth, outputs: arenaWidth.outputs + wider.width },
  };
}

describe('a model', () => {
  let backends: { name: string; backend: Backend }[];

  beforeAll(async () => {
    backends = await backendsToCompare();
  });

  /** Runs the same on the reference and on every variant, and expects the same floats. */
  async function expectSame(run: (backend: Backend) => Promise<readonly (Float32Array | undefined)[]>): Promise<void> {
    const [reference, ...variants] = backends;
    const expected = await run(reference!.backend);
    for (const { name, backend } of variants) {
      for (const [i, floats] of (await run(backend)).entries()) {
        expect(firstDifference(floats, expected[i]), `${name}, result ${i}`).toBeNull();
      }
    }
  }

  it.each(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'iq4_nl'] as const)(
    'gives the logits of the reference with %s weights, in prefill and decode',
    async (dtype) => {
      await expectSame(async (backend) => {
        const executable = await tinyLlama(backend, { dtype });
        const tokens = someTokens(70);
        const blocks = firstBlocks(executable, 80);
        const whole = await prefill(executable, tokens, { blocks });
        const results = [whole.logits!.slice()];
        for (let p = 70; p < 76; p++) {
          const part = { tokenIds: [p % 96], start: p, blocks };
          results.push((await executable.step(makeBatch([part]))).logits!.slice());
        }
        return results;
      });
    },
  );

  it.each([
    ['f32', 16],
    ['f16', 64],
    ['q8', 32],
  ] as const)('gives every boundary of the reference, fused and unfused (%s cache)', async (cacheDtype, blockSize) => {
    for (const fuse of [true, false]) {
      await expectSame(async (backend) => {
        const lower = { captures: 'all', fuse } as const;
        const executable = await tinyLlama(backend, { dtype: 'q4_1', cacheDtype, blockSize, lower });
        const { captures } = await prefill(executable, someTokens(33));
        return [...captures!.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, values]) => values);
      });
    }
  });

  it.each([
    ['one key/value head', { num_key_value_heads: 1 }],
    ['as many key/value heads as heads', { num_key_value_heads: 4 }],
    ['heads of 24', { num_attention_heads: 4, num_key_value_heads: 2, head_dim: 24 }],
    ['eight heads on one', { num_attention_heads: 8, num_key_value_heads: 1, head_dim: 16 }],
  ])('gives the logits of the reference with %s', async (_, config) => {
    await expectSame(async (backend) => {
      const executable = await tinyLlama(backend, { config, dtype: 'q8_0' });
      const blocks = firstBlocks(executable, 150);
      const prompt = await prefill(executable, someTokens(140), { blocks, chunk: 61 });
      const results = [prompt.logits!.slice()];
      const decode = makeBatch([{ tokenIds: [9], start: 140, blocks }]);
      results.push((await executable.step(decode)).logits!.slice());
      return results;
    });
  });

  it.each(['f16', 'q8'] as const)(
    'gives the logits of the reference across groups of 512 positions (%s)',
    async (cacheDtype) => {
      await expectSame(async (backend) => {
        const config = { num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 1, head_dim: 16 };
        const executable = await tinyLlama(backend, { config, cacheDtype, maxTokens: 600, numBlocks: 80 });
        const tokens = someTokens(1100);
        const blocks = firstBlocks(executable, 1110);
        const results = [(await prefill(executable, tokens.slice(0, 550), { blocks })).logits!.slice()];
        const rest = makeBatch([{ tokenIds: tokens.slice(550), start: 550, blocks, outputs: [0, 473, 474, 549] }]);
        results.push((await executable.step(rest)).logits!.slice());
        // One token: groups are spread over threads.
        const decode = makeBatch([{ tokenIds: [5], start: 1100, blocks }]);
        results.push((await executable.step(decode)).logits!.slice());
        return results;
      });
    },
  );

  it.each([1, 20, 64, 65, 130])('gives the logits of the reference with a window of %i', async (window) => {
    await expectSame(async (backend) => {
      const executable = await tinyLlama(backend, {
        config: { num_hidden_layers: 1 },
        maxTokens: 700,
        editProgram: (program) => ({
          ...program,
          cacheGroups: [{ window }],
          ops: program.ops.map((op) => (op.kind === 'attention' ? { ...op, window } : op)),
        }),
      });
      const blocks = firstBlocks(executable, 701);
      const prompt = { tokenIds: someTokens(700), start: 0, blocks, outputs: [0, 1, 63, 64, 66, 200, 511, 512, 699] };
      const results = [(await executable.step(makeBatch([prompt]))).logits!.slice()];
      const decode = makeBatch([{ tokenIds: [5], start: 700, blocks }]);
      results.push((await executable.step(decode)).logits!.slice());
      return results;
    });
  });
});

describe.each(supportedVariants)('the contract (%s)', (variant) => {
  const tokens = someTokens(130);
  let backend: Backend;
  let whole: StepResult;

  beforeAll(async () => {
    backend = await cpuBackend({ variant, numThreads: 2 });
    const { logits } = await prefill(await tinyLlama(backend, { dtype: 'q4_0' }), tokens);
    whole = { logits: logits!.slice() };
  });

  it.each([1, 3])('gives the same logits on %i threads', async (numThreads) => {
    const other = await cpuBackend({ variant, numThreads });
    expect(other.info.numThreads).toBe(numThreads);
    const { logits } = await prefill(await tinyLlama(other, { dtype: 'q4_0' }), tokens);
    expect(firstDifference(logits, whole.logits)).toBeNull();
  });

  it.each([1, 7, 64])('gives the same logits when the prompt comes in chunks of %i', async (chunk) => {
    const { logits } = await prefill(await tinyLlama(backend, { dtype: 'q4_0' }), tokens, { chunk });
    expect(firstDifference(logits, whole.logits)).toBeNull();
  });

  it.each([
    [16, 'f16'],
    [32, 'f16'],
    [64, 'f16'],
    [16, 'f32'],
    [64, 'f32'],
    [16, 'q8'],
    [32, 'q8'],
    [64, 'q8'],
  ] as const)('gives the same logits with blocks of %i, shuffled (%s)', async (blockSize, cacheDtype) => {
    const inOrder =
      cacheDtype === 'f16'
        ? whole.logits
        : (await prefill(await tinyLlama(backend, { dtype: 'q4_0', cacheDtype }), tokens)).logits!.slice();
    const executable = await tinyLlama(backend, { dtype: 'q4_0', blockSize, cacheDtype });
    const blocks = firstBlocks(executable, tokens.length).map((block) => (block * 11 + 5) % 64);
    const { logits } = await prefill(executable, tokens, { chunk: 50, blocks });
    expect(firstDifference(logits, inOrder)).toBeNull();
  });

  it('gives a sequence the same logits alone and among others', async () => {
    const prompts = [someTokens(3), someTokens(17).reverse(), someTokens(40), [5], someTokens(90)];
    const executable = await tinyLlama(backend, { dtype: 'q4_1' });
    const alone: Float32Array[] = [];
    for (const prompt of prompts) alone.push((await prefill(executable, prompt)).logits!.slice());
    let nextBlock = 0;
    const parts = prompts.map((tokenIds) => {
      const blocks = Array.from({ length: Math.ceil(tokenIds.length / 16) }, () => nextBlock++);
      return { tokenIds, start: 0, blocks };
    });
    const together = await executable.step(makeBatch(parts));
    for (const [s, logits] of alone.entries()) {
      expect(firstDifference(together.logits!.slice(s * 96, (s + 1) * 96), logits), `sequence ${s}`).toBeNull();
    }
  });

  it('gives hidden rows beside rows of other kinds', async () => {
    const parts = [
      { tokenIds: [1, 2, 3], start: 0, blocks: [0], outputs: [0, 2] },
      { tokenIds: [4, 5, 6], start: 0, blocks: [1], outputs: [0, 1, 2] },
    ];
    const batch = makeBatch(parts);
    const hiddenRow = { kind: 'hidden' } as const;
    const rows = [{ kind: 'logits' }, { kind: 'logprob', tokenId: 7 }, hiddenRow, hiddenRow, hiddenRow] as const;
    const options = { config: { vocab_size: 83, tie_word_embeddings: false }, dtype: 'q8_0' } as const;
    const reference = await tinyLlama(createReferenceBackend(), options);
    const [allLogits, allHidden] = [(await reference.step(batch)).logits!, await hiddenOf(reference, batch)];
    const copied = await tinyLlama(backend, { ...options, editProgram: withHiddenInWiderBuffer });
    for (const executable of [reference, await tinyLlama(backend, options), copied]) {
      const { logits, hidden, logprobs, argmax, sampled } = await executable.step(batch, {
        output: { kind: 'rows', rows },
      });
      expect(firstDifference(logits, allLogits.subarray(0, 2 * 83))).toBeNull();
      expect(firstDifference(hidden, allHidden.subarray(2 * 64))).toBeNull();
      const nothing = [Number.NaN, Number.NaN, Number.NaN];
      expect([...logprobs!]).toEqual([Number.NaN, expect.closeTo(-4, -1), ...nothing]);
      expect([argmax![0], ...argmax!.subarray(2)]).toEqual([-1, -1, -1, -1]);
      expect([...sampled!]).toEqual([-1, -1, -1, -1, -1]);
    }
  });

  it('runs the head on no row that is wanted as a hidden row', async () => {
    const untied = { tie_word_embeddings: false };
    const batch = makeBatch([1, 2].map((id, s) => ({ tokenIds: [id], start: 0, blocks: [s] })));
    const hidden = await hiddenOf(await tinyLlama(backend, { config: untied }), batch);
    const [first, second] = [hidden.subarray(0, 64), hidden.subarray(64)].map((row) => row.map(Math.abs));
    // A head of one column, so large that only the second sequence has logits beyond f32.
    const column = first!.findIndex((value, i) => value < 1 && second![i]! > 1.2);
    const head = Float32Array.from({ length: 96 * 64 }, (_, i) => (i % 64 === column ? 3e38 : 0));
    const edit = (sources: Map<string, WeightSource>) => {
      sources.set('lm_head.weight', weightSource('lm_head.weight', [96, 64], head));
    };
    for (const each of [backend, createReferenceBackend()]) {
      const executable = await tinyLlama(each, { config: untied, edit });
      const [logitsRow, hiddenRow] = [{ kind: 'logits' }, { kind: 'hidden' }] as const;
      const step = (...rows: RowOutput[]) => executable.step(batch, { output: { kind: 'rows', rows } });
      await expect(step(logitsRow, logitsRow)).rejects.toThrow(NumericError);
      expect(firstDifference((await step(logitsRow, hiddenRow)).hidden, hidden.subarray(64))).toBeNull();
      expect(firstDifference((await step(hiddenRow, hiddenRow)).hidden, hidden)).toBeNull();
    }
  });

  it('gives hidden rows alone, without the head', async () => {
    const executable = await tinyLlama(backend, { dtype: 'q4_0' });
    const batch = makeBatch([{ tokenIds: [1, 2, 3], start: 0, blocks: [0], outputs: [0, 1, 2] }]);
    const expected = await hiddenOf(executable, batch);
    const rows = [0, 1, 2].map(() => ({ kind: 'hidden' }) as const);
    const { hidden, logits, profile } = await executable.step(batch, { output: { kind: 'rows', rows }, profile: true });
    expect(firstDifference(hidden, expected)).toBeNull();
    expect(logits).toHaveLength(0);
    expect(profile!.at(-1)!.nanoseconds).toBe(0);
    expect(profile!.at(-2)!.nanoseconds).toBeGreaterThan(0);
  });

  it('gives the log-probabilities and hidden rows of the reference', async () => {
    const batch = makeBatch([{ tokenIds: [1, 2, 3], start: 0, blocks: [0], outputs: [0, 2] }]);
    const mine = await tinyLlama(backend, { config: { vocab_size: 83, tie_word_embeddings: false } });
    const reference = createReferenceBackend();
    const theirs = await tinyLlama(reference, { config: { vocab_size: 83, tie_word_embeddings: false } });
    const rows = [7, 82].map((tokenId) => ({ kind: 'logprob', tokenId }) as const);
    const output = { kind: 'rows', rows } as const;
    const got = await mine.step(batch, { output });
    const expected = await theirs.step(batch, { output });
    expect(firstDifference(got.logprobs, expected.logprobs)).toBeNull();
    expect(got.argmax).toEqual(expected.argmax);
    const hidden = await mine.step(batch, { output: { kind: 'hidden' } });
    const expectedHidden = await theirs.step(batch, { output: { kind: 'hidden' } });
    expect(firstDifference(hidden.hidden, expectedHidden.hidden)).toBeNull();
    expect(hidden.logits).toBeUndefined();
  });
});
