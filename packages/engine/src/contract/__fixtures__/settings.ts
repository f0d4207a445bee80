import type { CacheDtype } from '@hearth/core';
import fc from 'fast-check';
import type { LoadWeightsOptions } from '../../model/load-options.ts';
import { tinyModels } from './tiny-models.ts';

/** How a model is loaded that has many clients: everything that may not change what they get. */
export interface Setting {
  readonly name: string;
  readonly cacheDtype: CacheDtype;
  readonly numThreads: 1 | 2;
  /** Blocks of the cache besides those that the largest request needs when it is alone. */
  readonly numSpareBlocks: number;
  readonly options: LoadWeightsOptions & { readonly maxOutputRows: number };
}

/** Settings of the models named. */
export function settings(names: readonly string[] = tinyModels): fc.Arbitrary<Setting> {
  return fc.record({
    name: fc.constantFrom(...names),
    cacheDtype: fc.constantFrom('f32', 'f16', 'q8'),
    numThreads: fc.constantFrom(1, 2),
    numSpareBlocks: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 60 })),
    options: fc
      .record({
        maxTokensPerStep: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 13, max: 256 })),
        maxOutputRows: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 13, max: 64 })),
        shareOfSequences: fc.constantFrom(0.5, 1, 1),
        prefillTimeMs: fc.constantFrom(0.01, 1, 250, Number.POSITIVE_INFINITY),
        prefixCache: fc.constantFrom(true, true, false),
        loop: fc.constantFrom('simple', 'overlapped'),
      })
      .map(({ shareOfSequences, ...options }) => {
        const most = Math.min(options.maxTokensPerStep, options.maxOutputRows);
        return { ...options, maxSequences: Math.max(1, Math.floor(most * shareOfSequences)), checkIntegrity: true };
      }),
  });
}
