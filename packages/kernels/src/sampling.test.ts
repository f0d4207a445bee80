import type { SampleRow } from '@hearth/core';
import { sampleFromRow } from '@hearth/sampler';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { sampleRow } from './__fixtures__/sample-row.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { encodeRowOutputs } from './encode-row-outputs.ts';
import { loadAddon } from './load-addon.ts';

// The token of every row is that of @hearth/sampler, which is the definition: here it is the oracle.

const { testing } = loadAddon();

function sample(variant: string, logits: Float32Array, row: Partial<SampleRow>): number {
  return testing.sample(variant, logits, encodeRowOutputs([sampleRow(row)]));
}

function expected(logits: Float32Array, row: Partial<SampleRow>): number {
  return sampleFromRow(logits, sampleRow(row));
}

/** A completion of which only the length counts. */
function completionOf(length: number): Pick<SampleRow, 'completionTokenIds'> {
  return { completionTokenIds: { length } };
}

/** Sizes around the blocks of 64 and the vectors of 8, and those of real vocabularies. */
const vocabSizes = fc.constantFrom(1, 2, 7, 8, 9, 63, 64, 65, 127, 129, 1000, 2049, 5000, 32_003);

/** Rows as models give them, rows with many equal logits, and extreme ones. */
const rows = fc
  .tuple(vocabSizes, fc.nat(), fc.constantFrom('normal', 'steps', 'two', 'equal', 'huge', 'tiny', 'zeros', 'rising'))
  .map(([length, seed, shape]) => {
    const random = seededRandom(seed);
    const normal = randomFloats(random, length, 4);
    switch (shape) {
      case 'steps':
        return normal.map((value) => Math.round(value));
      case 'two':
        return normal.map((value) => (value > 0 ? 3 : -1.5));
      case 'equal':
        return normal.fill(2.25);
      case 'huge':
        return normal.map((value) => value * 1.5e37);
      case 'tiny':
        return normal.map((value) => value * 1e-39);
      case 'zeros':
        return normal.map((value) => (value > 0 ? 0 : -0));
      case 'rising':
        return normal.map((value, id) => id * 1e-3 + value * 1e-5);
      default:
        return normal;
    }
  });

const parameters: fc.Arbitrary<Partial<SampleRow>> = fc.record({
  temperature: fc.oneof(
    fc.constantFrom(0, 2 ** -31, 2 ** -30, 2 ** -30 * (1 - 1e-12), 1e-6, 0.3, 0.8, 1, 2, 100, 1e30, 1e38, 1e300),
    fc.double({ min: 0.01, max: 3, noNaN: true }),
  ),
  topK: fc.constantFrom(0, 0, 1, 2, 40, 1000, 3000, 2 ** 40),
  topP: fc.oneof(fc.constantFrom(0, 0.5, 0.95, 1 - 1e-12, 1, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  minP: fc.oneof(fc.constantFrom(0, 0, 1e-60, 0.05, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  seed: fc.bigInt(0n, 2n ** 64n - 1n),
  choiceIndex: fc.nat(2 ** 32 - 1),
  completionTokenIds: fc.oneof(fc.nat(100), fc.constantFrom(2 ** 32, 2 ** 40 + 3)).map((length) => ({ length })),
});

describe.each(supportedVariants)('a row (%s)', (variant) => {
  it('gives the token of the sampler', () => {
    const property = fc.property(rows, parameters, (logits, row) => {
      expect(sample(variant, logits, row)).toBe(expected(logits, row));
    });
    fc.assert(property, { seed: 1, numRuns: 1000 });
  });

  it('of a huge vocabulary gives the token of the sampler, with and without top-k', () => {
    const logits = randomFloats(seededRandom(3), 151_936, 6);
    for (const topK of [0, 1, 40, 2000, 100_000]) {
      for (let i = 0; i < 8; i++) {
        const row = { temperature: 0.7 + i / 4, topK, topP: i % 2 ? 0.9 : 1, seed: 2n ** 63n + BigInt(i) };
        expect(sample(variant, logits, row), `top-k ${topK}, draw ${i}`).toBe(expected(logits, row));
      }
    }
  });

  it('gives every token that can be drawn, not only the best one', () => {
    const logits = randomFloats(seededRandom(5), 300, 1);
    const drawn = new Set<number>();
    for (let position = 0; position < 2000; position++) {
      const row = { seed: 9n, ...completionOf(position) };
      const id = sample(variant, logits, row);
      expect(id).toBe(expected(logits, row));
      drawn.add(id);
    }
    expect(drawn.size).toBeGreaterThan(200);
  });

  it.each([Number.NaN, Infinity, -Infinity])('with %f among its logits gives no token', (value) => {
    for (const [length, at] of [
      [1, 0],
      [70, 69],
      [200, 5],
      [200, 64],
    ] as const) {
      const logits = randomFloats(seededRandom(1), length);
      logits[at] = value;
      for (const temperature of [0, 1]) expect(sample(variant, logits, { temperature })).toBe(-1);
    }
  });

  it('of a step gives what it gives alone, beside rows of every kind', async () => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const executable = await tinyLlama(backend, { config: { vocab_size: 83, tie_word_embeddings: false } });
    const outputs = [0, 3, 4, 11, 12, 18, 19];
    const batch = makeBatch([{ tokenIds: Array.from({ length: 20 }, (_, i) => i), start: 0, blocks: [0, 1], outputs }]);
    const logits = (await executable.step(batch)).logits!.slice();
    const rows = outputs.map((_, i) => {
      if (i % 3 === 1) return { kind: 'logprob', tokenId: i * 5 } as const;
      if (i % 3 === 2) return { kind: 'logits' } as const;
      return sampleRow({ temperature: i / 2, topK: i * 3, seed: BigInt(i) ** 20n });
    });
    const together = await executable.step(batch, { output: { kind: 'rows', rows } });
    expect(firstDifference(together.logits, logits)).toBeNull();
    for (const [i, row] of rows.entries()) {
      const logitsOfRow = logits.slice(i * 83, (i + 1) * 83);
      expect(together.sampled![i]).toBe(row.kind === 'sample' ? sampleFromRow(logitsOfRow, row) : -1);
      expect(together.argmax![i]).toBe(row.kind === 'logprob' ? logitsOfRow.indexOf(Math.max(...logitsOfRow)) : -1);
      expect(Number.isNaN(together.logprobs![i])).toBe(row.kind !== 'logprob');
      const others = rows.map((_, r) => (r === i ? row : ({ kind: 'logits' } as const)));
      const alone = await executable.step(batch, { output: { kind: 'rows', rows: others } });
      expect(alone.sampled![i]).toBe(together.sampled![i]);
      expect(alone.argmax![i]).toBe(together.argmax![i]);
      expect(alone.logprobs![i]).toBe(together.logprobs![i]);
    }
  });
});

describe('what native code is given', () => {
  const wrong: [number, number, RegExp][] = [
    [0, 3, /kind of output row 0 must be .*, got 3/],
    [1, -1, /temperature of output row 0 must be .*, got -1/],
    [1, Number.NaN, /temperature/],
    [1, Infinity, /temperature/],
    [2, -1, /topK/],
    [2, 1.5, /topK .* whole number/],
    [3, 1.01, /topP/],
    [4, -0.1, /minP/],
    [5, 2 ** 32, /low/],
    [6, 0.5, /high/],
    [7, 2 ** 32, /choiceIndex/],
    [8, 0.5, /numCompletionTokens/],
  ];
  it.each(wrong)('as number %i is refused when it is %f', (at, value, message) => {
    const numbers = encodeRowOutputs([sampleRow()]);
    numbers[at] = value;
    expect(() => testing.sample('portable', new Float32Array(3), numbers)).toThrow(message);
  });

  it('is refused when it has another length or type', () => {
    expect(() => testing.sample('portable', new Float32Array(3), new Float64Array(7))).toThrow(
      /7 numbers for 1 output rows/,
    );
    expect(() => testing.sample('portable', new Float32Array(3), [] as never)).toThrow(/rows must be a Float64Array/);
  });
});
