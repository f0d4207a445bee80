import { InvalidArgumentError, weightDtypes } from '@hearth/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { supportedVariants } from './__fixtures__/backends.ts';
import { createCpuBackend, kernelVariants } from './cpu-backend.ts';

afterEach(() => vi.unstubAllEnvs());

describe('kernel variants', () => {
  it('are listed, the portable one last and always there', () => {
    const variants = kernelVariants();
    expect(variants.at(-1)).toMatchObject({ name: 'portable', requires: [], isSupported: true });
    for (const { name, description } of variants) expect(`${name}: ${description}`).toMatch(/^[\w-]+: .{10,}/);
    expect(new Set(variants.map(({ name }) => name)).size).toBe(variants.length);
  });

  it.each(supportedVariants)('%s is the active one when it is forced, by option or environment', async (variant) => {
    vi.stubEnv('HEARTH_KERNELS_VARIANT', variant);
    const byEnvironment = await createCpuBackend({ numThreads: 1 });
    expect(byEnvironment.info.variant).toBe(variant);
    vi.stubEnv('HEARTH_KERNELS_VARIANT', 'portable');
    const byOption = await createCpuBackend({ variant, numThreads: 1 });
    expect(byOption.info.variant).toBe(variant); // the option wins
    await byEnvironment.dispose();
    await byOption.dispose();
  });

  it('are chosen best first when nothing is forced', async () => {
    vi.stubEnv('HEARTH_KERNELS_VARIANT', undefined);
    const backend = await createCpuBackend({ numThreads: 1 });
    expect(backend.info.variant).toBe(supportedVariants[0]);
    await backend.dispose();
  });

  it('with an unknown name are an error that lists what there is', async () => {
    vi.stubEnv('HEARTH_KERNELS_VARIANT', 'avx9000');
    const creating = createCpuBackend();
    await expect(creating).rejects.toThrow(InvalidArgumentError);
    await expect(creating).rejects.toThrow(/no kernel variant 'avx9000'.*There are: .*portable/);
  });
});

describe('createCpuBackend', () => {
  it('says what it is', async () => {
    const backend = await createCpuBackend({ numThreads: 3 });
    expect(backend.info).toMatchObject({
      kind: 'cpu',
      numThreads: 3,
      weightDtypes: Object.keys(weightDtypes),
      cacheDtypes: ['f32', 'f16', 'q8'],
      canSampleInStep: true,
    });
    await backend.dispose();
  });

  it.each([0, -1, 1.5, 1025, Number.NaN, '2' as never])('refuses %s threads', async (numThreads) => {
    await expect(createCpuBackend({ numThreads })).rejects.toThrow(InvalidArgumentError);
  });

  it('refuses an unknown file access', async () => {
    await expect(createCpuBackend({ fileAccess: 'mmap' as never })).rejects.toThrow(/'map' or 'read', got mmap/);
  });
});
