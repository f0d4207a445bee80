import { formatTable } from '@hearth/command-line';
import type { BackendInfo } from '@hearth/core';
import type { RooflineCeilings } from '@hearth/engine';
import {
  type Ceiling,
  type MachineCeilings,
  type MachineProbe,
  measureMachine,
  type ThreadRates,
} from '@hearth/kernels';

/**
 * Measures what the machine can do with the threads and the instructions of a backend. Null for backends that do not compute
 * with native kernels: there is nothing to hold them against.
 */
export async function measureCeilings(backend: BackendInfo, signal: AbortSignal): Promise<MachineCeilings | null> {
  if (backend.kind !== 'cpu') return null;
  process.stderr.write('Measuring this machine ...\n');
  return measureMachine({ variant: backend.variant, numThreads: backend.numThreads, signal });
}

/** The ceilings that a roofline is made of: the best runs, on all threads. */
export function rooflineCeilings({ memoryRead, l2Read, integer, fma }: MachineCeilings): RooflineCeilings {
  return {
    memoryBytes: memoryRead.allThreads.best,
    cacheBytes: l2Read.allThreads.best,
    integerOps: integer.allThreads.best,
    floatOps: fma.allThreads.best,
  };
}

/**
 * The same in a quarter of the time, for measuring them in turn with something else. Medians: a machine that is shared gives
 * the best of its speed for moments only.
 */
export async function quickCeilings(probe: MachineProbe, signal: AbortSignal): Promise<RooflineCeilings> {
  const median = async (ceiling: Ceiling) => (await probe.measure(ceiling, { numRuns: 5, signal }))!.median;
  return {
    memoryBytes: await median('memory-read'),
    cacheBytes: await median('l2-read'),
    integerOps: await median('integer'),
    floatOps: await median('fma'),
  };
}

/** The best of some short runs, with their median in brackets. */
export function ceilingsTable(ceilings: MachineCeilings): string {
  const { variant, numThreads, memoryRead, l3Read, l2Read, fma, integer } = ceilings;
  const threads = numThreads === 1 ? [] : [`${numThreads} THREADS`];
  const row = (name: string, unit: string, rates: ThreadRates) => {
    const cell = ({ best, median }: ThreadRates['oneThread']) =>
      `${(best / 1e9).toFixed(1)} (${(median / 1e9).toFixed(1)}) ${unit}`;
    return [name, cell(rates.oneThread), ...(threads.length > 0 ? [cell(rates.allThreads)] : [])];
  };
  return formatTable(
    [
      ['CEILING', '1 THREAD', ...threads],
      row('memory read', 'GB/s', memoryRead),
      ...(l3Read ? [row('L3 cache read', 'GB/s', l3Read)] : []),
      row('L2 cache read', 'GB/s', l2Read),
      row('f32 multiply-add', 'GOP/s', fma),
      row(`integer dot product (${variant})`, 'GOP/s', integer),
    ],
    [1, 2],
  );
}
