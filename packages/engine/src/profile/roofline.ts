import type { OpWork } from './op-work.ts';

/** What a machine can do at most, per second (docs/roofline.md). */
export interface RooflineCeilings {
  /** From main memory: weights and cache stream through. */
  readonly memoryBytes: number;
  /** From the cache of a core: activations were written there a moment ago. */
  readonly cacheBytes: number;
  readonly integerOps: number;
  readonly floatOps: number;
}

/**
 * The roofline of some work (Williams et al. 2009): the least time that its bytes take, and its operations. The larger of both
 * is the least time that it takes at all.
 */
export function leastSeconds(
  work: OpWork,
  ceilings: RooflineCeilings,
): { readonly bytes: number; readonly ops: number } {
  const { weightBytes, cacheBytes, activationBytes, integerOps, floatOps } = work;
  return {
    bytes: (weightBytes + cacheBytes) / ceilings.memoryBytes + activationBytes / ceilings.cacheBytes,
    ops: integerOps / ceilings.integerOps + floatOps / ceilings.floatOps,
  };
}
