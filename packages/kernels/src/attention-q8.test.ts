import type { Backend } from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { firstBlocks, makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';

// Attention over a q8 cache in every variant against the reference, bit for bit, past a group of 512 positions: whole tiles,
// partial ones, windows, and one token whose groups are spread over threads. How single vectors are stored is in
// cache-q8.test.ts.

const numTokens = 530;

interface Shape {
  readonly headDim: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly window: number | null;
}

/** Logits after some tokens of a prompt that comes in chunks, and after one more token. */
async function run(backend: Backend, { headDim, heads, kvHeads, window }: Shape, blockSize: number, chunk: number) {
  const executable = await tinyLlama(backend, {
    config: { num_hidden_layers: 1, num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: headDim },
    cacheDtype: 'q8',
    blockSize,
    numBlocks: 64,
    maxTokens: numTokens,
    editProgram: (program) => ({
      ...program,
      cacheGroups: [{ window }],
      ops: program.ops.map((op) => (op.kind === 'attention' ? { ...op, window } : op)),
    }),
  });
  const blocks = firstBlocks(executable, numTokens + 1).map((block) => (block * 11 + 5) % 64);
  const prompt = await prefill(executable, someTokens(numTokens), { blocks, chunk });
  const results = [prompt.logits!.slice()];
  const decode = makeBatch([{ tokenIds: [5], start: numTokens, blocks }]);
  results.push((await executable.step(decode)).logits!.slice());
  return results;
}

describe.each<Shape>([
  { headDim: 64, heads: 3, kvHeads: 1, window: null },
  { headDim: 72, heads: 2, kvHeads: 2, window: 100 },
  { headDim: 80, heads: 2, kvHeads: 1, window: null },
  { headDim: 96, heads: 2, kvHeads: 1, window: 64 },
  { headDim: 128, heads: 2, kvHeads: 1, window: null },
  { headDim: 256, heads: 1, kvHeads: 1, window: 200 },
])('heads of $headDim, window $window', (shape) => {
  it('give the logits of the reference, whatever the blocks and chunks', async () => {
    const expected = await run(createReferenceBackend(), shape, 32, numTokens);
    for (const variant of supportedVariants) {
      const backend = await cpuBackend({ variant, numThreads: 2 });
      for (const [blockSize, chunk] of [
        [16, numTokens],
        [32, 77],
        [64, 200],
      ] as const) {
        for (const [i, logits] of (await run(backend, shape, blockSize, chunk)).entries()) {
          expect(firstDifference(logits, expected[i]), `${variant}, blocks of ${blockSize}, result ${i}`).toBeNull();
        }
      }
    }
  });
});
