import { join } from 'node:path';
import type { WeightSource, WeightSpec } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { familyFixture, familyNames, smallSizes } from '../__fixtures__/families.ts';
import { temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import type { Checkpoint } from '../checkpoint.ts';
import { convertToGguf } from '../convert.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { writeSynthetic } from '../synthetic/synthetic-model.ts';
import { weightSource } from '../tensor/weight-source.ts';
import { plannedDtypes, type QuantizePlan } from './quantize-plan.ts';
import { recodedSource } from './recoded-source.ts';
import { typescriptQuantizer } from './typescript-quantizer.ts';

const directory = await temporaryDirectory();

/** As the engine does it: what a backend is given of each weight under the plan. */
function sourcesOf(checkpoint: Checkpoint, specs: readonly WeightSpec[], plan?: QuantizePlan): WeightSource[] {
  const stored = specs.map((spec) => weightSource(checkpoint.tensors.get(spec.name)!, spec));
  if (!plan) return stored;
  const dtypes = plannedDtypes(stored, plan);
  return stored.map((source) => recodedSource(source, dtypes.get(source.name)!, { quantizer: typescriptQuantizer }));
}

/** Rows in the order of the model. */
async function rowsOf({ file, offset, byteLength, rowOrder }: WeightSource): Promise<Buffer> {
  const bytes = await file.read(offset, byteLength);
  if (!rowOrder) return Buffer.from(bytes);
  const rowBytes = byteLength / rowOrder.length;
  return Buffer.concat(Array.from(rowOrder, (row) => bytes.subarray(row * rowBytes, (row + 1) * rowBytes)));
}

describe.each([...familyNames])('%s', (name) => {
  // 256 fits every type; the other widths bring in what stands for those that do not.
  const { config, weights } = familyFixture(name, { ...smallSizes, hiddenSize: 256, numLayers: 1 });
  const plan: QuantizePlan = { dtype: 'q4_k', rules: [{ pattern: '*down_proj.weight', dtype: 'q3_k' }] };
  const ownPlan =
    name === 'gpt2' ? { ...plan, rules: [{ pattern: '*mlp.c_proj.weight', dtype: 'q3_k' as const }] } : plan;

  it('is given to a backend alike from a quantized file and quantized on load', async () => {
    const folder = join(directory, name);
    await writeSynthetic(folder, { config, weights, dtype: 'bf16', seed: 2 });
    const original = await openCheckpoint(folder);
    const path = join(directory, `${name}.gguf`);
    await convertToGguf(original, path, ownPlan);
    const written = await openCheckpoint(path);
    const [onLoad, fromFile] = [sourcesOf(original, weights, ownPlan), sourcesOf(written, weights)];
    for (const [i, source] of onLoad.entries()) {
      expect(`${source.name} ${source.dtype}`).toBe(`${fromFile[i]!.name} ${fromFile[i]!.dtype}`);
      expect((await rowsOf(source)).equals(await rowsOf(fromFile[i]!)), source.name).toBe(true);
    }
    expect(onLoad.filter(({ dtype }) => dtype === 'q4_k').length).toBeGreaterThan(1);
    await Promise.all([original.close(), written.close()]);
  });
});
