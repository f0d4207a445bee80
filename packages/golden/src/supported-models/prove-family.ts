import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { buildModel } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeFamily, readFamily, writeFamily } from './documented-table.ts';
import { type FamilyName, familySamples } from './families.ts';
import { type FormatSample, formatSamples } from './formats.ts';
import { type CellOutcome, proveCell } from './prove-cell.ts';
import { type PlainTensor, randomTensors } from './random-tensors.ts';

/**
 * The logits of the quantized model go with those of the model in f32, which both backends together could get wrong. A code in a
 * wrong place takes the correlation to 0; 2 bits leave this much of it on random weights, 3 bits and more leave over 0.9.
 */
const leastCorrelation = (format: FormatSample) =>
  format.label === 'Q2_K' ? 0.6 : format.label === 'Q3_K' ? 0.85 : 0.93;

/** Tests one family in every format, and that the documentation says what was found. */
export function testFamily(name: FamilyName): void {
  const { label, config } = familySamples[name];
  describe(label, () => {
    const backends: Backend[] = [];
    const cells: { format: FormatSample; outcome: CellOutcome }[] = [];
    let tensors: PlainTensor[];
    beforeAll(async () => {
      backends.push(createReferenceBackend(), await createCpuBackend());
      tensors = randomTensors((await buildModel(config, { contextLength: 512 })).weights);
    });
    afterAll(async () => {
      for (const backend of backends) await backend.dispose();
    });

    // Reference and kernels run 256 tokens: some seconds where two cores are busy.
    it.each(formatSamples)(
      '$container $label: both backends give the same bits, or it is refused by name',
      async (format) => {
        const folder = await mkdtemp(join(tmpdir(), 'hearth-formats-'));
        try {
          const path = await format.write(config, tensors, folder);
          const outcome = await proveCell(path, backends, new Set(format.dtypes));
          cells.push({ format, outcome });
          if (outcome.kind === 'proven' && format.container === 'GGUF') {
            const exact = cells.find((cell) => cell.format.label === 'F32')?.outcome;
            if (exact?.kind !== 'proven') throw new Error('The family does not run in f32.');
            expect(correlation(outcome.logits, exact.logits)).toBeGreaterThan(leastCorrelation(format));
          }
        } finally {
          await rm(folder, { recursive: true });
        }
      },
      120_000,
    );

    it('is in the documentation as it was found', async () => {
      expect(cells).toHaveLength(formatSamples.length);
      const found = describeFamily(label, cells);
      if (process.env.UPDATE_DOCS === '1') await writeFamily(label, found);
      expect(await readFamily(label)).toEqual(found);
    });
  });
}

/** Pearson's correlation of all logits. */
function correlation(a: Float32Array, b: Float32Array): number {
  const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (const i of a.keys()) {
    const [x, y] = [a[i]! - meanA, b[i]! - meanB];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb);
}
