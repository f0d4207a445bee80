import { describe, expect, it } from 'vitest';
import { split } from './split.ts';

describe('split', () => {
  const text = '-the-final--cut-';
  it.each([
    ['Removed', false, ['the', 'final', 'cut']],
    ['Removed', true, ['-', '-', '-', '-', '-']],
    ['Isolated', false, ['-', 'the', '-', 'final', '-', '-', 'cut', '-']],
    ['Isolated', true, ['-', 'the', '-', 'final', '-', '-', 'cut', '-']],
    ['MergedWithPrevious', false, ['-', 'the-', 'final-', '-', 'cut-']],
    ['MergedWithNext', false, ['-the', '-final', '-', '-cut', '-']],
    ['MergedWithPrevious', true, ['-the', '-final', '-', '-cut', '-']],
    ['MergedWithNext', true, ['-', 'the-', 'final-', '-', 'cut-']],
    ['Contiguous', false, ['-', 'the', '-', 'final', '--', 'cut', '-']],
  ] as const)('%s, inverted %s', (behavior, invert, pieces) => {
    expect(split(text, /-/gu, behavior, invert)).toEqual(pieces);
  });

  it('takes no empty matches and no empty text', () => {
    expect(split('ab', /x*/gu, 'Isolated', false)).toEqual(['a', 'b']);
    expect(split('', /-/gu, 'Isolated', false)).toEqual([]);
  });
});
