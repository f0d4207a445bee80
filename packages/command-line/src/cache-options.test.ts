import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cacheOptions, dividedCacheOptions } from './cache-options.ts';

const sizes = { bytesPerToken: 300, draftBytesPerToken: 100, defaultTokens: 64 };
const bytesPerToken = fc.integer({ min: 1, max: 1e6 });

describe('the cache of one model', () => {
  it('is as large as the flags say', () => {
    expect(cacheOptions({ cacheMemory: 5000, prefixCache: false })).toEqual({
      cacheTokens: undefined,
      cacheBytes: 5000,
      prefixCache: false,
    });
  });
});

describe('the cache of a model and its draft', () => {
  it('holds as many tokens in both as the flags say, or as the model has by default', () => {
    const given = { cacheTokens: 96, prefixCache: true };
    expect(dividedCacheOptions(given, sizes)).toEqual({ model: given, draft: given });
    const byDefault = { cacheTokens: 64, prefixCache: true };
    expect(dividedCacheOptions({ prefixCache: true }, sizes)).toEqual({ model: byDefault, draft: byDefault });
  });

  it('takes no more memory than there is, and leaves less than a token in both takes', () => {
    fc.assert(
      fc.property(bytesPerToken, bytesPerToken, fc.integer({ min: 1, max: 1e12 }), (target, draft, cacheMemory) => {
        const shared = { bytesPerToken: target, draftBytesPerToken: draft, defaultTokens: 1 };
        const caches = dividedCacheOptions({ cacheMemory, prefixCache: true }, shared);
        const [modelBytes, draftBytes] = [caches.model.cacheBytes!, caches.draft.cacheBytes!];
        expect(modelBytes / target).toBe(draftBytes / draft);
        expect(modelBytes + draftBytes).toBeLessThanOrEqual(cacheMemory);
        expect(cacheMemory - modelBytes - draftBytes).toBeLessThan(target + draft);
      }),
    );
  });
});
