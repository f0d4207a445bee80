import { weightDtypes } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ggufTensorTypeIds, ggufTensorTypes } from './tensor-types.ts';

describe('ggufTensorTypes', () => {
  it('has the blocks that core computes with, and every type of core but those of our own', () => {
    const ofOurOwn: string[] = [];
    for (const [dtype, { blockElements, blockBytes }] of Object.entries(weightDtypes)) {
      const id = ggufTensorTypeIds.get(dtype);
      if (id === undefined) ofOurOwn.push(dtype);
      else expect(ggufTensorTypes.get(id)).toEqual({ name: dtype, blockElements, blockBytes });
    }
    expect(ofOurOwn).toEqual(['int4_g32', 'int4_g128', 'f8_e4m3']);
  });

  it('knows every number up to the last one, but the two that were given up before GGUF', () => {
    const numbers = [...ggufTensorTypes.keys()];
    const missing = Array.from({ length: numbers.at(-1)! }, (_, id) => id).filter((id) => !ggufTensorTypes.has(id));
    expect(missing).toEqual([4, 5]);
    expect(new Set([...ggufTensorTypes.values()].map(({ name }) => name)).size).toBe(numbers.length);
  });
});
