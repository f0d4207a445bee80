import { InvalidArgumentError, type SampleRow } from '@hearth/core';
import { createSampler } from '@hearth/sampler';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { encodeSampleRows } from './encode-sample-rows.ts';
import { loadAddon } from './load-addon.ts';

// The token of every row is that of @hearth/sampler, which is the definition: here it is the oracle.

const { testing } = loadAddon();

const greedy: SampleRow = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 0n,
  choiceIndex: 0,
  numCompletionTokens: 0,
};

function expected(logits: Float32Array, { numCompletionTokens, ...params }: SampleRow): number {
  const completionTokenIds = { length: numCompletionTokens };
  const sampler = createSampler(params, { vocabSize: logits.length });
  return sampler.sample(logits, { promptTokenIds: [], completionTokenIds }).tokenId;
}

function sample(variant: string, logits: Float32Array, row: SampleRow): number {
  return testing.sample(variant, logits, encodeSampleRows([row], 1));
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

const parameters: fc.Arbitrary<SampleRow> = fc.record({
  temperature: fc.oneof(
    fc.constantFrom(0, 2 ** -31, 2 ** -30, 2 ** -30 * (1 - 1e-12), 1e-6, 0.3, 0.8, 1, 2, 100, 1e30, 1e38, 1e300),
    fc.double({ min: 0.01, max: 3, noNaN: true }),
  ),
  topK: fc.constantFrom(0, 0, 1, 2, 40, 1000, 3000, 2 ** 40),
  topP: fc.oneof(fc.constantFrom(0, 0.5, 0.95, 1 - 1e-12, 1, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  minP: fc.oneof(fc.constantFrom(0, 0, 1e-60, 0.05, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  seed: fc.bigInt(0n, 2n ** 64n - 1n),
  choiceIndex: fc.nat(2 ** 32 - 1),
  numCompletionTokens: fc.oneof(fc.nat(100), fc.constantFrom(2 ** 32, 2 ** 40 + 3)),
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
        const row = { ...greedy, temperature: 0.7 + i / 4, topK, topP: i % 2 ? 0.9 : 1, seed: 2n ** 63n + BigInt(i) };
        expect(sample(variant, logits, row), `top-k ${topK}, draw ${i}`).toBe(expected(logits, row));
      }
    }
  });

  it('gives every token that can be drawn, not only the best one', () => {
    const logits = randomFloats(seededRandom(5), 300, 1);
    const drawn = new Set<number>();
    for (let position = 0; position < 2000; position++) {
      const row = { ...greedy, temperature: 1, seed: 9n, numCompletionTokens: position };
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
      for (const temperature of [0, 1]) expect(sample(variant, logits, { ...greedy, temperature })).toBe(-1);
    }
  });

  it('of a step gives the tokens of its logits', async () => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const executable = await tinyLlama(backend, { config: { vocab_size: 83, tie_word_embeddings: false } });
    const outputs = [0, 3, 4, 11, 12, 18, 19];
    const batch = makeBatch([{ tokenIds: Array.from({ length: 20 }, (_, i) => i), start: 0, blocks: [0, 1], outputs }]);
    const samples = outputs.map((_, i) => ({ ...greedy, temperature: i / 2, topK: i * 3, seed: BigInt(i) ** 20n }));
    const { logits } = await executable.step(batch);
    const tokens = samples.map((row, i) => expected(logits!.slice(i * 83, (i + 1) * 83), row));
    const result = await executable.step(batch, { output: { kind: 'sample', rows: samples } });
    expect([...result.sampled!]).toEqual(tokens);
    expect(result.logits).toBeUndefined();
    // The greedy row is the argmax.
    const output = { kind: 'logprobs', tokenIds: new Int32Array(outputs.length) } as const;
    expect((await executable.step(batch, { output })).argmax![0]).toBe(tokens[0]);
  });
});

describe('parameters', () => {
  const wrong: [Partial<Record<keyof SampleRow, unknown>>, RegExp][] = [
    [{ temperature: -1 }, /temperature of output row 0 must be .*, got -1/],
    [{ temperature: Number.NaN }, /temperature/],
    [{ temperature: Infinity }, /temperature/],
    [{ topK: -1 }, /topK/],
    [{ topK: 1.5 }, /topK .* whole number/],
    [{ topP: 1.01 }, /topP/],
    [{ minP: -0.1 }, /minP/],
    [{ choiceIndex: 2 ** 32 }, /choiceIndex/],
    [{ numCompletionTokens: 0.5 }, /numCompletionTokens/],
  ];
  it.each(wrong)('%j are refused, in TypeScript and in native code', (change, message) => {
    const row = { ...greedy, ...change } as SampleRow;
    expect(() => encodeSampleRows([row], 1)).toThrow(InvalidArgumentError);
    expect(() => encodeSampleRows([row], 1)).toThrow(message);
    const { temperature, topK, topP, minP, choiceIndex, numCompletionTokens } = row;
    const numbers = Float64Array.of(temperature, topK, topP, minP, 0, 0, choiceIndex, numCompletionTokens);
    expect(() => testing.sample('portable', new Float32Array(3), numbers)).toThrow(message);
  });

  it('with seeds beyond 64 bits are refused', () => {
    for (const seed of [-1n, 2n ** 64n, 5]) {
      expect(() => encodeSampleRows([{ ...greedy, seed } as SampleRow], 1)).toThrow(/seed of output row 0/);
    }
    for (const word of [-1, 2 ** 32, 0.5]) {
      expect(() => testing.sample('portable', new Float32Array(3), Float64Array.of(1, 0, 1, 0, word, 0, 0, 0))).toThrow(
        /low/,
      );
      expect(() => testing.sample('portable', new Float32Array(3), Float64Array.of(1, 0, 1, 0, 0, word, 0, 0))).toThrow(
        /high/,
      );
    }
  });

  it('for another number of rows are refused', () => {
    expect(() => encodeSampleRows([greedy], 2)).toThrow(/one row of parameters per output row: 2, got 1/);
    expect(() => testing.sample('portable', new Float32Array(3), new Float64Array(7))).toThrow(
      /7 numbers for 1 output rows/,
    );
    expect(() => testing.sample('portable', new Float32Array(3), [] as never)).toThrow(/rows must be a Float64Array/);
  });
});
