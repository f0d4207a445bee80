import { AbortError, DisposedError, InvalidArgumentError } from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { supportedVariants } from './__fixtures__/backends.ts';
import { loadAddon } from './load-addon.ts';
import { type Ceiling, type MachineProbe, openMachineProbe } from './machine-probe.ts';
import { measureMachine } from './measure-machine.ts';

/**
 * More than one thread of any processor can do in a second. A loop that the compiler has folded away, or whose memory is one page of
 * zeros, comes out above it.
 */
const mostOfOneThread: Readonly<Record<Ceiling, number>> = {
  'memory-read': 200e9,
  'l3-read': 800e9,
  'l2-read': 1600e9,
  fma: 800e9,
  integer: 6400e9,
};
const ceilings = Object.keys(mostOfOneThread) as Ceiling[];

describe.each(supportedVariants)('a probe of %s', (variant) => {
  let probe: MachineProbe;
  beforeAll(async () => {
    probe = await openMachineProbe({ variant, numThreads: 2 });
  });
  afterAll(() => probe.dispose());

  it.each(ceilings)('measures %s with one thread and with all', async (ceiling) => {
    for (const threads of ['one', 'all'] as const) {
      const rate = await probe.measure(ceiling, { threads, numRuns: 2 });
      // Only the third level may be missing, or too small to be told from the second.
      if (ceiling === 'l3-read' && rate === null) return;
      expect(rate!.median).toBeGreaterThan(0);
      expect(rate!.best).toBeGreaterThanOrEqual(rate!.median);
      expect(rate!.best).toBeLessThan((threads === 'one' ? 1 : 2) * mostOfOneThread[ceiling]);
    }
  });
});

describe('a probe', () => {
  it('says what it measures with', async () => {
    const probe = await openMachineProbe({ variant: 'portable', numThreads: 3 });
    expect([probe.variant, probe.numThreads]).toEqual(['portable', 3]);
    expect(probe.caches.l2Bytes).toBeGreaterThanOrEqual(2 ** 16);
    await probe.dispose();
  });

  it('ends a measurement when its signal fires, and measures again', async () => {
    const probe = await openMachineProbe({ numThreads: 1 });
    const controller = new AbortController();
    const measuring = probe.measure('fma', { numRuns: 1000, signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(measuring).rejects.toThrow(AbortError);
    await expect(probe.measure('fma', { signal: controller.signal })).rejects.toThrow(AbortError);
    expect(await probe.measure('fma', { numRuns: 1 })).not.toBeNull();
    await probe.dispose();
  });

  it('cannot be used once it is disposed', async () => {
    const probe = await openMachineProbe({ numThreads: 1 });
    await probe.dispose();
    await probe.dispose();
    await expect(probe.measure('fma')).rejects.toThrow(DisposedError);
  });

  it.each([{ variant: 'avx9000' }, { numThreads: 0 }, { numThreads: 1025 }])('refuses %j', async (options) => {
    await expect(openMachineProbe(options)).rejects.toThrow(InvalidArgumentError);
  });

  it('has its arguments checked again by native code', async () => {
    const { Probe } = loadAddon();
    const probe = new Probe('portable', 1);
    const [integer, memoryRead, cacheRead] = [0, 2, 3];
    expect(() => probe.measure(4, true, 0, 1)).toThrow(/no quantity 4/);
    expect(() => probe.measure(-1, true, 0, 1)).toThrow(/no quantity -1/);
    await expect(probe.measure(integer, true, 0, 0)).rejects.toThrow(/1 to 1000 runs, got 0/);
    await expect(probe.measure(memoryRead, true, 0, 1)).rejects.toThrow(/a multiple of 1048576 bytes/);
    await expect(probe.measure(memoryRead, true, 2 ** 20 + 512, 1)).rejects.toThrow(/a multiple of 1048576 bytes/);
    await expect(probe.measure(memoryRead, true, 2 ** 50, 1)).rejects.toThrow(/at most 4294967296/);
    await expect(probe.measure(cacheRead, true, 100, 1)).rejects.toThrow(/a multiple of 512 bytes/);
    await probe.dispose();
  });
});

describe('measureMachine', () => {
  it('measures all ceilings', async () => {
    const machine = await measureMachine({ numThreads: 2 });
    expect(machine).toMatchObject({ variant: supportedVariants[0], numThreads: 2 });
    for (const { oneThread, allThreads } of [machine.memoryRead, machine.l2Read, machine.fma, machine.integer]) {
      expect(Math.min(oneThread.median, allThreads.median)).toBeGreaterThan(0);
    }
  });

  it('stops when its signal fires', async () => {
    const signal = AbortSignal.timeout(5);
    await expect(measureMachine({ numThreads: 1, signal })).rejects.toThrow(AbortError);
  });
});
