import { describe, expect, it } from 'vitest';
import { isNestedDeeperThan } from './nesting.ts';

describe('isNestedDeeperThan', () => {
  it.each<[unknown, number]>([
    [1, 0],
    ['[[[', 0],
    [null, 0],
    [[], 1],
    [{}, 1],
    [{ a: 1, b: [2] }, 2],
    [[{}, { a: { b: [] } }, []], 4],
  ])('%j has %d levels', (value, levels) => {
    expect(isNestedDeeperThan(value, levels)).toBe(false);
    if (levels > 0) expect(isNestedDeeperThan(value, levels - 1)).toBe(true);
  });

  it('does not recurse', () => {
    expect(isNestedDeeperThan(JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`), 64)).toBe(true);
  });
});
