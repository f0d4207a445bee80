import { describe, expect, it } from 'vitest';
import { ChunkSizer } from './chunk-sizer.ts';

const sizer = () => new ChunkSizer({ targetMs: 250, maxTokens: 256 });

describe('ChunkSizer', () => {
  it('takes as many tokens as fit the time by what was measured', () => {
    const chunks = sizer();
    for (let i = 0; i < 20; i++) chunks.observe({ numPrefillTokens: 64, numOtherTokens: 0, milliseconds: 128 });
    // Of 250 ms eight tenths, at 2 ms a token.
    expect(chunks.chunkTokens).toBe(100);
  });

  it('does not count the time of the tokens beside them', () => {
    const chunks = sizer();
    for (let i = 0; i < 40; i++) {
      chunks.observe({ numPrefillTokens: 0, numOtherTokens: 8, milliseconds: 60 });
      chunks.observe({ numPrefillTokens: 64, numOtherTokens: 8, milliseconds: 188 });
    }
    expect(chunks.chunkTokens).toBeGreaterThanOrEqual(96);
    expect(chunks.chunkTokens).toBeLessThanOrEqual(101);
  });

  it('follows a machine that slows down', () => {
    const chunks = sizer();
    for (let i = 0; i < 20; i++) chunks.observe({ numPrefillTokens: 100, numOtherTokens: 0, milliseconds: 100 });
    expect(chunks.chunkTokens).toBe(200);
    // At once when it is slower, bit by bit when it is faster again.
    chunks.observe({ numPrefillTokens: 100, numOtherTokens: 0, milliseconds: 1000 });
    expect(chunks.chunkTokens).toBe(20);
    chunks.observe({ numPrefillTokens: 100, numOtherTokens: 0, milliseconds: 100 });
    expect(chunks.chunkTokens).toBe(25);
  });

  it('stays between 16 tokens and the most of a step', () => {
    const chunks = sizer();
    chunks.observe({ numPrefillTokens: 64, numOtherTokens: 0, milliseconds: 60_000 });
    expect(chunks.chunkTokens).toBe(16);
    const fast = sizer();
    fast.observe({ numPrefillTokens: 64, numOtherTokens: 0, milliseconds: 0.1 });
    expect(fast.chunkTokens).toBe(256);
    expect(new ChunkSizer({ targetMs: 250, maxTokens: 8 }).chunkTokens).toBe(8);
    expect(new ChunkSizer({ targetMs: Number.POSITIVE_INFINITY, maxTokens: 8 }).chunkTokens).toBe(8);
  });

  it('learns nothing from chunks too short to tell', () => {
    const chunks = sizer();
    const before = chunks.chunkTokens;
    chunks.observe({ numPrefillTokens: 2, numOtherTokens: 0, milliseconds: 500 });
    expect(chunks.chunkTokens).toBe(before);
  });
});
