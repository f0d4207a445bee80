import { noTokenAllowed, type SampleRow } from '@hearth/core';
import { createTokenMask, sampleFromRow } from '@hearth/sampler';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { sampleRow } from './__fixtures__/sample-row.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { encodeRowOutputs, type NativeRowOutputs } from './encode-row-outputs.ts';
import { loadAddon } from './load-addon.ts';

// The token of every row is that of @hearth/sampler, which is the definition: here it is the oracle.

const { testing } = loadAddon();

function sample(variant: string, logits: Float32Array, row: Partial<SampleRow>): number {
  return testing.sample(variant, logits, encodeRowOutputs([sampleRow(row)], logits.length));
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

/** Filters and draws. */
const filters: fc.Arbitrary<Partial<SampleRow>> = fc.record({
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

/** All that a row can ask for together, some of it off, with ids of a vocabulary. */
function everything(vocabSize: number): fc.Arbitrary<Partial<SampleRow>> {
  const off = <T>(value: T) => ({ weight: 2, arbitrary: fc.constant(value) });
  const tokenId = fc.oneof(fc.nat(vocabSize - 1), fc.nat(Math.min(vocabSize, 9) - 1));
  const tokenIds = fc.array(tokenId, { maxLength: 60 });
  const penalty = fc.oneof(off(0), fc.constantFrom(-2, 2, 1e-60), fc.double({ min: -2, max: 2, noNaN: true }));
  const few = fc.uniqueArray(tokenId, { maxLength: 3 });
  const half = fc.nat().map((seed) => {
    const random = seededRandom(seed);
    return Array.from({ length: vocabSize }, (_, id) => id).filter(() => random() < 0.5);
  });
  const others = fc.record({
    typicalP: fc.oneof(off(1), fc.constantFrom(0, 1 - 1e-12), fc.double({ min: 0, max: 1, noNaN: true })),
    repetitionPenalty: fc.oneof(
      off(1),
      fc.constantFrom(2 ** -126, 1 + 1e-12, 3e38),
      fc.double({ min: 0.5, max: 2, noNaN: true }),
    ),
    repetitionWindow: fc.oneof(off(-1), fc.nat(130)),
    frequencyPenalty: penalty,
    presencePenalty: penalty,
    logitBias: fc
      .array(fc.tuple(tokenId, fc.double({ min: -100, max: 100, noNaN: true })), { maxLength: 5 })
      .map((entries) => new Map(entries)),
    promptTokenIds: tokenIds,
    completionTokenIds: fc.oneof(
      tokenIds,
      tokenIds.map((ids) => Int32Array.from(ids)),
    ),
    mask: fc.option(
      fc.oneof(few, half).map((ids) => createTokenMask(vocabSize, ids)),
      { nil: undefined },
    ),
  });
  return fc.tuple(filters, others).map(([first, second]) => ({ ...first, ...second }));
}

describe.each(supportedVariants)('a row (%s)', (variant) => {
  it('gives the token of the sampler', () => {
    const property = fc.property(rows, filters, (logits, row) => {
      expect(sample(variant, logits, row)).toBe(expected(logits, row));
    });
    fc.assert(property, { seed: 1, numRuns: 1000 });
  });

  it('gives the token of the sampler with biases, penalties, masks and typical-p', () => {
    const cases = rows.chain((logits) => fc.tuple(fc.constant(logits), everything(logits.length)));
    const property = fc.property(cases, ([logits, row]) => {
      const before = logits.slice();
      expect(sample(variant, logits, row)).toBe(expected(logits, row));
      expect(firstDifference(logits, before)).toBeNull();
    });
    fc.assert(property, { seed: 1, numRuns: 2000 });
  });

  it('of equal typical distances keeps the first ones', () => {
    // Three levels of logits: the candidates of each are equally typical, and a share leaves some of the last ones out.
    const logits = Float32Array.from({ length: 90 }, (_, id) => [2, 1.2, -1][id % 3]!);
    for (let step = 0; step <= 64; step++) {
      for (let draw = 0; draw < 4; draw++) {
        const row = { typicalP: step / 64, seed: BigInt(step * 4 + draw), topP: draw % 2 ? 0.7 : 1 };
        expect(sample(variant, logits, row), `share ${step} / 64`).toBe(expected(logits, row));
      }
    }
  });

  it('whose mask allows no token gives -2, and one token gives that', () => {
    for (const vocabSize of [1, 31, 32, 33, 64, 200]) {
      const logits = randomFloats(seededRandom(vocabSize), vocabSize);
      for (const temperature of [0, 1]) {
        const none = new Uint32Array(Math.ceil(vocabSize / 32));
        // Bits past the vocabulary do not count.
        if (vocabSize % 32 > 0) none[none.length - 1] = -1 << (vocabSize % 32);
        expect(sample(variant, logits, { temperature, mask: none })).toBe(noTokenAllowed);
        const last = createTokenMask(vocabSize, [vocabSize - 1]);
        expect(sample(variant, logits, { temperature, mask: new Int32Array(last.buffer) })).toBe(vocabSize - 1);
      }
    }
  });

  it('of a huge vocabulary gives the token of the sampler, with and without top-k', () => {
    const logits = randomFloats(seededRandom(3), 151_936, 6);
    const completionTokenIds = Int32Array.from({ length: 4000 }, (_, i) => (i * i * 31) % 151_936);
    const penalties = { completionTokenIds, repetitionPenalty: 1.2, frequencyPenalty: 0.3, presencePenalty: 0.2 };
    for (const topK of [0, 1, 40, 2000, 100_000]) {
      for (let i = 0; i < 8; i++) {
        const draw = { temperature: 0.7 + i / 4, topK, topP: i % 2 ? 0.9 : 1, seed: 2n ** 63n + BigInt(i) };
        const row = { ...draw, ...(i % 4 === 3 && penalties), typicalP: i % 5 === 4 ? 0.8 : 1 };
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
      const mask = i === 6 ? new Uint32Array(3) : undefined;
      const history = { promptTokenIds: outputs.slice(0, i), completionTokenIds: [82, 7, 7] };
      const penalties = { repetitionPenalty: 1 + i, repetitionWindow: i, frequencyPenalty: i / 4 };
      const logitBias = new Map([[i, 3]]);
      return sampleRow({
        temperature: i / 2,
        topK: i * 3,
        seed: BigInt(i) ** 20n,
        ...history,
        ...penalties,
        logitBias,
        mask,
      });
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
  const history = { promptTokenIds: [1, 2], completionTokenIds: [0], logitBias: new Map([[2, 5]]) };
  const everyPart = sampleRow({ ...history, repetitionPenalty: 2, presencePenalty: 1, mask: Uint32Array.of(7) });
  const good = () => encodeRowOutputs([everyPart], 3);
  const call = (rows: NativeRowOutputs) => testing.sample('portable', new Float32Array(3), rows);

  const wrong: [number, number, RegExp][] = [
    [0, 4, /kind of output row 0 must be .*, got 4/],
    [0, 1.5, /kind .* whole number/],
    [2, -1, /temperature of output row 0 must be .*, got -1/],
    [2, Number.NaN, /temperature/],
    [2, Infinity, /temperature/],
    [3, -1, /topK/],
    [3, 1.5, /topK .* whole number/],
    [4, 1.01, /topP/],
    [5, -0.1, /minP/],
    [6, 2, /typicalP/],
    [7, 2 ** 32, /low/],
    [8, 0.5, /high/],
    [9, 2 ** 32, /choiceIndex/],
    [10, 0.5, /numCompletionTokens/],
    [11, 0, /repetitionPenalty/],
    [11, 3.5e38, /repetitionPenalty/],
    [12, 4097, /numRecent of output row 0 must be 0 to 4096/],
    [12, 4, /tokenIds is too short for output row 0|outside the vocabulary|tokenIds, biases or masks/],
    [13, -2.5, /frequencyPenalty/],
    [14, Number.NaN, /presencePenalty/],
    [15, -1, /numGenerated/],
    [16, 4, /numBiased of output row 0 must be 0 to 3/],
    [16, 2, /tokenIds is too short for output row 0/],
    [16, 0, /longer than the output rows say/],
    [17, 2, /hasMask/],
    [17, 0, /longer than the output rows say/],
  ];
  it.each(wrong)('as number %i is refused when it is %f', (at, value, message) => {
    expect(call(good())).toBe(1);
    const rows = good();
    rows.numbers[at] = value;
    expect(() => call(rows)).toThrow(message);
  });

  it('in the lists is refused when it is out of range', () => {
    const change = (make: (rows: NativeRowOutputs) => void) => {
      const rows = good();
      make(rows);
      return () => call(rows);
    };
    expect(change(({ tokenIds }) => tokenIds.set([3], 1))).toThrow(/Token id 3 of output row 0 is outside/);
    expect(change(({ tokenIds }) => tokenIds.set([-1], 3))).toThrow(/Token id -1 of output row 0 is outside/);
    expect(change(({ biases }) => biases.fill(101))).toThrow(/bias of output row 0 must be -100 to 100, got 101/);
    expect(change(({ biases }) => biases.fill(Number.NaN))).toThrow(/bias of output row 0/);
  });

  it('is refused when it has another length or type', () => {
    const rows = good();
    expect(() => call({ ...rows, numbers: new Float64Array(7) })).toThrow(/7 numbers for 1 output rows of 18/);
    expect(() => call({ ...rows, biases: new Float32Array(0) })).toThrow(/biases is too short for output row 0/);
    expect(() => call({ ...rows, masks: new Int32Array(0) })).toThrow(/masks is too short for output row 0/);
    expect(() => call({ ...rows, masks: [] as never })).toThrow(/masks must be an Int32Array/);
    expect(() => call([] as never)).toThrow(/numbers must be a Float64Array/);
    expect(() => call(undefined as never)).toThrow(/rows must be an object/);
  });

  it('has the tokens that penalties look at, and no others', () => {
    const tokensOf = (change: Partial<SampleRow>) => [...encodeRowOutputs([sampleRow(change)], 99).tokenIds];
    const history = { promptTokenIds: [1, 2, 3], completionTokenIds: Int32Array.of(4, 5) };
    expect(tokensOf(history)).toEqual([]);
    expect(tokensOf({ ...history, repetitionPenalty: 2 })).toEqual([1, 2, 3, 4, 5]);
    expect(tokensOf({ ...history, repetitionPenalty: 2, repetitionWindow: 3 })).toEqual([3, 4, 5]);
    expect(tokensOf({ ...history, repetitionPenalty: 2, repetitionWindow: 1 })).toEqual([5]);
    expect(tokensOf({ ...history, repetitionPenalty: 2, repetitionWindow: 0 })).toEqual([]);
    expect(tokensOf({ ...history, frequencyPenalty: 1 })).toEqual([4, 5]);
    expect(tokensOf({ ...history, presencePenalty: 1, repetitionPenalty: 2, repetitionWindow: 1 })).toEqual([4, 5]);
  });
});
