import { isQuantizedDtype, type WeightDtype, weightDtypes } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, tightRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { weightSource } from '../__fixtures__/weight-source.ts';
import { EventLoopTurn } from '../event-loop-turn.ts';
import { loadWeights } from '../load-weights.ts';
import type { DenseMatrix, Matrix, QuantizedMatrix } from '../matrix.ts';
import { copyRows } from '../rows.ts';
import { linear } from './linear.ts';
import { quantizeActivations } from './quantize-activations.ts';

async function matrixOf(values: Float32Array, rows: number, columns: number, dtype: WeightDtype): Promise<Matrix> {
  const spec = { name: 'w', role: 'matrix', shape: [rows, columns] } as const;
  const source = weightSource('w', spec.shape, values, dtype);
  return (await loadWeights([spec], new Map([['w', source]]))).matrices.get('w')!;
}

async function run(x: Float32Array, columns: number, parts: { weight: Matrix; bias: Float32Array | null }[]) {
  const numRows = x.length / columns;
  const outWidth = parts.reduce((sum, { weight }) => sum + weight.rows, 0);
  const out = embeddedRows(new Float32Array(numRows * outWidth), outWidth);
  await linear(embeddedRows(x, columns), parts, out, numRows, new EventLoopTurn());
  return copyRows(out, numRows);
}

describe('linear with plain weights', () => {
  it.each(awkwardSizes)('equals x · Wᵀ + b in f64 to within one rounding a step (size %i)', async (size) => {
    const random = seededRandom(size);
    const [numRows, rows, columns] = [3, size, 2 * size + 1];
    const x = randomFloats(random, numRows * columns);
    const values = randomFloats(random, rows * columns);
    const bias = randomFloats(random, rows);
    const got = await run(x, columns, [{ weight: await matrixOf(values, rows, columns, 'f32'), bias }]);
    for (let t = 0; t < numRows; t++) {
      for (let r = 0; r < rows; r++) {
        let exact = bias[r]!;
        let magnitude = Math.abs(bias[r]!);
        for (let k = 0; k < columns; k++) {
          const product = values[r * columns + k]! * x[t * columns + k]!;
          exact += product;
          magnitude += Math.abs(product);
        }
        // Every one of the k + 1 steps rounds a partial sum that is at most `magnitude`; 1% for second order.
        const bound = 1.01 * (columns + 1) * unitRoundoff * magnitude;
        expect(Math.abs(got[t * rows + r]! - exact)).toBeLessThanOrEqual(bound);
      }
    }
  });

  it.each(['f16', 'bf16'] as const)('uses the exact value of %s weights', async (dtype) => {
    const random = seededRandom(5);
    const values = randomFloats(random, 4 * 40);
    const matrix = (await matrixOf(values, 4, 40, dtype)) as DenseMatrix;
    // One-hot inputs read single weights back.
    const x = new Float32Array(40 * 40);
    for (let k = 0; k < 40; k++) x[k * 40 + k] = 1;
    const got = await run(x, 40, [{ weight: matrix, bias: null }]);
    for (let k = 0; k < 40; k++) {
      for (let r = 0; r < 4; r++) expect(got[k * 4 + r]).toBe(matrix.values[r * 40 + k]);
    }
    // Two one-hots per row would catch a mix-up of rows; values are near their originals (8 bits of bf16).
    for (const [i, value] of values.entries()) {
      expect(Math.abs(matrix.values[i]! - value)).toBeLessThanOrEqual(Math.abs(value) * 2 ** -8);
    }
  });

  it('is one fused chain in ascending order', async () => {
    // 1 + 2^-24 rounds to 1, so the chain gives (((1 + h) + h) + h) = 1; a pairwise sum would give 1 + 2^-23.
    const h = 2 ** -24;
    const ones = new Float32Array(4).fill(1);
    const weight: DenseMatrix = { kind: 'dense', rows: 1, columns: 4, values: Float32Array.of(1, h, h, h) };
    expect([...(await run(ones, 4, [{ weight, bias: null }]))]).toEqual([1]);
    // The product is not rounded before the sum: (1 + 2^-23)² − (1 + 2^-22) = 2^-46.
    const e = 1 + 2 ** -23;
    const fused: DenseMatrix = { kind: 'dense', rows: 1, columns: 2, values: Float32Array.of(-1, e) };
    expect([...(await run(Float32Array.of(1 + 2 ** -22, e), 2, [{ weight: fused, bias: null }]))]).toEqual([2 ** -46]);
  });

  it('adds the bias after the chain', async () => {
    // Started from the bias, 2^24 + 0.75 + 0.75 would lose both; added after the chain, 1.5 rounds up to 2.
    const weight: DenseMatrix = { kind: 'dense', rows: 1, columns: 2, values: Float32Array.of(0.75, 0.75) };
    const bias = Float32Array.of(2 ** 24);
    expect([...(await run(Float32Array.of(1, 1), 2, [{ weight, bias }]))]).toEqual([2 ** 24 + 2]);
  });
});

describe('linear with quantized weights', () => {
  const quantizedDtypes = (Object.keys(weightDtypes) as WeightDtype[]).filter(isQuantizedDtype);
  const cases = quantizedDtypes.flatMap((dtype) =>
    [1, 3].map((n) => [dtype, (n * weightDtypes[dtype].blockElements) / 32] as const),
  );

  it.each(cases)('equals codes and scales multiplied in f64 (%s, %i times 32)', async (dtype, numBlocks) => {
    const random = seededRandom(numBlocks);
    const [numRows, rows, columns] = [3, 7, numBlocks * 32];
    const x = randomFloats(random, numRows * columns, 2);
    const w = (await matrixOf(randomFloats(random, rows * columns), rows, columns, dtype)) as QuantizedMatrix;
    const activations = quantizeActivations(tightRows(x, columns), numRows);
    const got = await run(x, columns, [{ weight: w, bias: null }]);
    const numTerms = numBlocks * (1 + (w.mins ? 32 / w.minElements : 0));
    for (let t = 0; t < numRows; t++) {
      for (let r = 0; r < rows; r++) {
        let exact = 0;
        let magnitude = 0;
        for (let b = 0; b < numBlocks; b++) {
          const block = r * numBlocks + b;
          const xScale = activations.scales[t * numBlocks + b]!;
          let scaled = 0;
          let shifted = 0;
          for (let i = 0; i < 32; i++) {
            const element = block * 32 + i;
            const activation = xScale * activations.codes[t * columns + b * 32 + i]!;
            const subScale = w.subScales?.[element >> 4] ?? 1;
            scaled += w.scales[block]! * subScale * w.codes[element]! * activation;
            shifted += (w.mins?.[Math.floor(element / w.minElements)] ?? 0) * activation;
          }
          exact += scaled + shifted;
          magnitude += Math.abs(scaled) + Math.abs(shifted);
        }
        // Each term rounds its scale once and the chain once, at a partial sum of at most `magnitude`; 1% for second order.
        const bound = 1.01 * (numTerms + 1) * unitRoundoff * magnitude;
        expect(Math.abs(got[t * rows + r]! - exact)).toBeLessThanOrEqual(bound);
      }
    }
  });

  it('computes one output step by step as the contract writes it', async () => {
    const { fround } = Math;
    const weight: QuantizedMatrix = {
      kind: 'quantized',
      rows: 1,
      columns: 32,
      codes: Int8Array.from({ length: 32 }, (_, i) => i % 16),
      scales: Float32Array.of(0.1),
      subScales: null,
      mins: Float32Array.of(-0.7),
      minElements: 32,
      columnOrder: null,
    };
    const x = Float32Array.from({ length: 32 }, (_, i) => Math.sin(i));
    const amax = Math.max(...x.map(Math.abs));
    const inverse = fround(127 / amax);
    const codes = [...x].map((value) => Math.round(fround(value * inverse)));
    const isum = codes.reduce((sum, code, i) => sum + code * (i % 16), 0);
    const xsum = codes.reduce((sum, code) => sum + code, 0);
    const xScale = fround(amax / 127);
    // The products and sums below fit in 53 bits, so that f64 and one rounding is an fma.
    const first = fround(isum * fround(fround(0.1) * xScale));
    const expected = fround(fround(-0.7) * fround(xsum * xScale) + first);
    expect([...(await run(x, 32, [{ weight, bias: null }]))]).toEqual([expected]);

    // With a factor and a minimum for each half: the factors go into the integer, the minimums are two more steps.
    const halves: QuantizedMatrix = {
      ...weight,
      subScales: Int8Array.of(-7, 100),
      mins: Float32Array.of(-0.7, 0.3),
      minElements: 16,
    };
    const sumOf = (from: number, value: (code: number, i: number) => number) =>
      codes.slice(from, from + 16).reduce((sum, code, i) => sum + value(code, i), 0);
    const weighted = -7 * sumOf(0, (code, i) => code * i) + 100 * sumOf(16, (code, i) => code * i);
    const scaled = fround(weighted * fround(fround(0.1) * xScale));
    const second = fround(fround(-0.7) * fround(sumOf(0, (code) => code) * xScale) + scaled);
    const third = fround(fround(0.3) * fround(sumOf(16, (code) => code) * xScale) + second);
    expect([...(await run(x, 32, [{ weight: halves, bias: null }]))]).toEqual([third]);
  });

  it('keeps the largest integer of a block exact', async () => {
    const weight: QuantizedMatrix = {
      kind: 'quantized',
      rows: 1,
      columns: 32,
      codes: new Int8Array(32).fill(-32),
      scales: Float32Array.of(1),
      subScales: Int8Array.of(-128, -128),
      mins: null,
      minElements: 32,
      columnOrder: null,
    };
    // amax 127 makes the scale of the activations 1.
    const x = new Float32Array(32).fill(127);
    x[31] = 126;
    const expected = 128 * 32 * (31 * 127 + 126);
    expect([...(await run(x, 32, [{ weight, bias: null }]))]).toEqual([expected]);
  });
});

describe('linear with a column order', () => {
  it('is the linear of reordered activations, beside parts without one', async () => {
    const random = seededRandom(6);
    const columns = 128;
    const x = randomFloats(random, 3 * columns);
    // 37 and 128 have no common factor.
    const columnOrder = Uint32Array.from({ length: columns }, (_, i) => (37 * i + 5) % columns);
    const plain = await matrixOf(randomFloats(random, 5 * columns), 5, columns, 'q4_0');
    const grouped = (await matrixOf(randomFloats(random, 4 * columns), 4, columns, 'int4_g128')) as QuantizedMatrix;
    const reordered = x.map((_, i) => x[Math.floor(i / columns) * columns + columnOrder[i % columns]!]!);
    const expected = await run(reordered, columns, [{ weight: grouped, bias: null }]);
    const beside = await run(x, columns, [{ weight: plain, bias: null }]);
    const got = await run(x, columns, [
      { weight: { ...grouped, columnOrder }, bias: null },
      { weight: plain, bias: null },
    ]);
    for (let t = 0; t < 3; t++) {
      expect(got.slice(t * 9, t * 9 + 4)).toEqual(expected.slice(t * 4, t * 4 + 4));
      expect(got.slice(t * 9 + 4, t * 9 + 9)).toEqual(beside.slice(t * 5, t * 5 + 5));
    }
  });
});

describe('linear with f8_e4m3 weights', () => {
  it('is that of f32 weights with the same values', async () => {
    const random = seededRandom(7);
    const x = randomFloats(random, 2 * 96);
    const weight = await matrixOf(randomFloats(random, 5 * 96), 5, 96, 'f8_e4m3');
    const { values } = weight as DenseMatrix;
    const dense = await matrixOf(values, 5, 96, 'f32');
    expect(await run(x, 96, [{ weight, bias: null }])).toEqual(await run(x, 96, [{ weight: dense, bias: null }]));
  });
});

describe('linear with several matrices', () => {
  it('gives each part what it gives alone, whatever the mix of types', async () => {
    const random = seededRandom(9);
    const columns = 64;
    const x = randomFloats(random, 2 * columns);
    const parts = await Promise.all(
      (['f32', 'q4_1', 'bf16', 'q8_0'] as const).map(async (dtype, i) => ({
        weight: await matrixOf(randomFloats(random, (i + 1) * columns), i + 1, columns, dtype),
        bias: i === 1 ? randomFloats(random, 2) : null,
      })),
    );
    const merged = await run(x, columns, parts);
    let column = 0;
    for (const part of parts) {
      const alone = await run(x, columns, [part]);
      for (let t = 0; t < 2; t++) {
        const from = t * 10 + column;
        expect(merged.slice(from, from + part.weight.rows)).toEqual(
          alone.slice(t * part.weight.rows, (t + 1) * part.weight.rows),
        );
      }
      column += part.weight.rows;
    }
  });

  it('gives a row the same bits alone and among others', async () => {
    const random = seededRandom(10);
    const x = randomFloats(random, 5 * 32);
    const weight = await matrixOf(randomFloats(random, 9 * 32), 9, 32, 'q4_0');
    const together = await run(x, 32, [{ weight, bias: null }]);
    for (let t = 0; t < 5; t++) {
      const alone = await run(x.slice(t * 32, (t + 1) * 32), 32, [{ weight, bias: null }]);
      expect(together.slice(t * 9, (t + 1) * 9)).toEqual(alone);
    }
  });
});

describe('quantizeActivations', () => {
  it('rounds halves to even, and never uses −128', () => {
    // amax 127 makes scale and inverse 1.
    const x = new Float32Array(32);
    x.set([127, -127, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5]);
    const { codes, scales, halfSums } = quantizeActivations(tightRows(x, 32), 1);
    expect([...codes.subarray(0, 8)]).toEqual([127, -127, 0, 2, 2, 0, -2, 126]);
    expect(scales[0]).toBe(1);
    expect([...halfSums]).toEqual([128, 0]);
  });

  it('makes blocks without a magnitude of 2^-120 zero', () => {
    const x = new Float32Array(64);
    x[0] = 2 ** -120;
    x[32] = 2 ** -121;
    const { codes, scales } = quantizeActivations(tightRows(x, 32 * 2), 1);
    expect([codes[0], scales[0]]).toEqual([127, Math.fround(2 ** -120 / 127)]);
    expect([codes[32], scales[1]]).toEqual([0, 0]);
  });

  it('keeps every code within 127 for all magnitudes', () => {
    const random = seededRandom(3);
    for (let exponent = -119; exponent < 127; exponent++) {
      const x = randomFloats(random, 32, 1).map((value) => Math.max(-1, Math.min(1, value)) * 2 ** exponent);
      const { codes } = quantizeActivations(tightRows(x, 32), 1);
      expect(Math.max(...codes.map(Math.abs))).toBe(127);
    }
  });

  it('is within half a step of the value', () => {
    const x = randomFloats(seededRandom(4), 320);
    const { codes, scales } = quantizeActivations(tightRows(x, 320), 1);
    for (const [i, value] of x.entries()) {
      const scale = scales[i >> 5]!;
      // Half a code, plus the roundings of inverse, product and scale at up to 127 codes.
      expect(Math.abs(value - scale * codes[i]!)).toBeLessThanOrEqual(scale * (0.5 + 127 * 4 * unitRoundoff));
    }
  });
});
