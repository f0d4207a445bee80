import { describe, expect, it } from 'vitest';
import { measure } from './measure.ts';

describe('measure', () => {
  it('counts characters, bytes, and 8 for anything else', () => {
    expect(measure('abc', 100)).toBe(3);
    expect(measure(5, 100)).toBe(8);
    expect(measure(null, 100)).toBe(8);
    expect(measure(new Int32Array(4), 100)).toBe(8 + 16);
    expect(measure(new ArrayBuffer(5), 100)).toBe(8 + 5);
    expect(measure(['ab', 'c'], 100)).toBe(8 + 3);
    expect(measure({ key: 'value' }, 100)).toBe(8 + 3 + 5);
    expect(measure(new Map([['k', 1]]), 100)).toBe(8 + 1 + 8);
    expect(measure(new Set(['ab']), 100)).toBe(8 + 2);
  });

  it('counts a shared or cyclic object once', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(measure(cycle, 1000)).toBe(8 + 4 + 8);
  });

  it('stops soon after the limit', () => {
    const reads = { count: 0 };
    const items = Array.from({ length: 1000 }, () => ({
      get text() {
        reads.count++;
        return 'x'.repeat(10);
      },
    }));
    expect(measure(items, 50)).toBeGreaterThan(50);
    expect(reads.count).toBeLessThan(10);
  });
});
