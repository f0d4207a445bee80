import { describe, expect, it } from 'vitest';
import { kvBytesPerToken } from './model-info.ts';

describe('kvBytesPerToken', () => {
  const layers = [
    { numKvHeads: 3, headDim: 64, group: 0 },
    { numKvHeads: 1, headDim: 80, group: 1 },
  ];

  it.each([
    ['f32', 2 * 4 * (3 * 64 + 80)],
    ['f16', 2 * 2 * (3 * 64 + 80)],
    // A byte for each value and four for the scale of each vector.
    ['q8', 2 * (3 * (64 + 4) + (80 + 4))],
  ] as const)('of a cache of %s', (dtype, bytes) => {
    expect(kvBytesPerToken(layers, dtype)).toBe(bytes);
  });
});
