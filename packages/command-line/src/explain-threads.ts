import { availableParallelism } from 'node:os';
import type { BackendInfo } from '@hearth/core';
import { cgroupCpuLimit } from '@hearth/kernels';

/** What the choice of a number of threads was made from. */
export interface ThreadReasons {
  /** The number that somebody asked for. */
  readonly wanted?: number | undefined;
  /** That this process may run on. */
  readonly processors?: number;
  /** Processors that control groups pay for; Infinity without a limit. */
  readonly quota?: number;
}

/** `4 threads, avx2: 8 processors may be used, but control groups allow 4`: how many threads compute, and why so many. */
export function explainThreads(
  { kind, variant, numThreads }: Pick<BackendInfo, 'kind' | 'variant' | 'numThreads'>,
  { wanted, processors = availableParallelism(), quota = cgroupCpuLimit() }: ThreadReasons = {},
): string {
  const threads = `${plural(numThreads, 'thread')}, ${kind === 'cpu' ? variant : kind}`;
  if (kind !== 'cpu') return threads;
  if (wanted !== undefined) return `${threads}: as asked for`;
  const mayUse = `${threads}: ${plural(processors, 'processor')} may be used`;
  if (quota < processors) return `${mayUse}, but control groups allow ${Number(quota.toFixed(2))}`;
  return numThreads < processors ? `${mayUse}, some left to JavaScript and others` : mayUse;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
