import { MemoryFile } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { slabFile } from './slab-file.ts';

const origin = { file: new MemoryFile(new Uint8Array(8)), offset: 2, byteLength: 6 };

/** 25 bytes that are their own places, in slabs of 10; notes which slabs are made. */
function counted() {
  const made: number[] = [];
  const makeSlab = async (index: number) => {
    made.push(index);
    return Uint8Array.from({ length: Math.min(10, 25 - 10 * index) }, (_, i) => 10 * index + i);
  };
  const file = slabFile('slabs', 25, 10, makeSlab, origin);
  return { file, made };
}

describe('slabFile', () => {
  it('makes each slab once for who reads front to back', async () => {
    const { file, made } = counted();
    const bytes: number[] = [];
    for (let at = 0; at < 25; at += 3) bytes.push(...(await file.read(at, Math.min(3, 25 - at))));
    expect(bytes).toEqual(Array.from({ length: 25 }, (_, i) => i));
    expect(file.origin).toBe(origin);
    expect(made).toEqual([0, 1, 2]);
  });

  it('reads across slabs, and from anywhere', async () => {
    const { file, made } = counted();
    expect([...(await file.read(8, 14))]).toEqual(Array.from({ length: 14 }, (_, i) => 8 + i));
    expect([...(await file.read(3, 2))]).toEqual([3, 4]);
    expect(await file.read(4, 0)).toHaveLength(0);
    expect(made).toEqual([0, 1, 2, 0]);
  });

  it('tries again after a failure', async () => {
    let tries = 0;
    const makeSlab = async () => {
      if (tries++ === 0) throw new Error('not now');
      return Uint8Array.of(1, 2, 3, 4);
    };
    const file = slabFile('slabs', 4, 4, makeSlab, origin);
    await expect(file.read(0, 2)).rejects.toThrow('not now');
    expect([...(await file.read(0, 2))]).toEqual([1, 2]);
  });
});
