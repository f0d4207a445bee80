import { describe, expect, it } from 'vitest';
import { refuseDeepTrees } from './refuse-deep-trees.ts';

interface Tree {
  readonly children: readonly Tree[];
}

function treeOf(levels: number): Tree {
  let tree: Tree = { children: [] };
  for (let level = 0; level < levels; level++) tree = { children: [{ children: [] }, tree] };
  return tree;
}

describe('refuseDeepTrees', () => {
  it('lets through what people write, however wide', () => {
    expect(() => refuseDeepTrees()(treeOf(100))).not.toThrow();
    expect(() => refuseDeepTrees()({ children: Array.from({ length: 100_000 }, () => treeOf(1)) })).not.toThrow();
  });

  it('refuses what is deeper, without going down by calls itself', () => {
    expect(() => refuseDeepTrees()(treeOf(101))).toThrow(/more than 100 levels/);
    expect(() => refuseDeepTrees()(treeOf(100_000))).toThrow(/more than 100 levels/);
  });
});
