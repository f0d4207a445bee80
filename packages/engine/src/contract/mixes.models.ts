// The random mixes of mixes.test.ts, more of them and with a seed of the day. Not in CI: `pnpm test:models`.
import { expect, it } from 'vitest';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { checkMixesOnKernels, checkMixesOnReference } from './__fixtures__/check-mixes.ts';

const seed = Number(process.env.HEARTH_PROPERTY_SEED ?? Math.floor(Date.now() / 86_400_000));

it(`answers 2000 random mixes of seed ${seed} as if each request were alone`, async () => {
  expect(hasKernels()).toBe(true);
  await checkMixesOnKernels({ seed, numRuns: 2000 });
  await checkMixesOnReference({ seed, numRuns: 50 }, true);
});
