// No output changes because of what else is done at the same time: random mixes of everything that a model can be asked for,
// with random settings, against the same done alone. HEARTH_PROPERTY_SEED=$RANDOM and HEARTH_PROPERTY_RUNS=1000 look further.
import { describe, it } from 'vitest';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { checkMixesOnKernels, checkMixesOnReference } from './__fixtures__/check-mixes.ts';

const seed = Number(process.env.HEARTH_PROPERTY_SEED ?? 1);
const numRuns = Number(process.env.HEARTH_PROPERTY_RUNS ?? 100);
const timeout = 120_000 + 2_000 * numRuns;

describe('many requests at once, each as if it were alone', () => {
  it.skipIf(!hasKernels())(`on the kernels, ${numRuns} mixes of seed ${seed}`, { timeout }, async () => {
    await checkMixesOnKernels({ seed, numRuns });
  });

  it('on the reference', { timeout }, async () => {
    await checkMixesOnReference({ seed, numRuns: Math.ceil(numRuns / 50) }, hasKernels());
  });
});
