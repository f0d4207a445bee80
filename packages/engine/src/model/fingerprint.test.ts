import type { Checkpoint, CheckpointTensor } from '@hearth/checkpoint';
import { DerivedFile, MemoryFile } from '@hearth/core';
import { expect, it } from 'vitest';
import { modelFingerprint } from './fingerprint.ts';

it('looks at what a repacked matrix is made from, and does not repack it', async () => {
  const fingerprint = (packed: readonly number[]) => {
    const origin = { file: new MemoryFile(Uint8Array.from(packed)), offset: 1, byteLength: 2 };
    const derive = () => Promise.reject(new Error('It was repacked.'));
    const tensor: CheckpointTensor = {
      name: 'w',
      storedName: 'w',
      dtype: 'int4_g32',
      shape: [8, 32],
      file: new DerivedFile('repacked', 160, derive, origin),
      offset: 0,
      byteLength: 160,
    };
    const checkpoint = { headerHash: 'header', tensors: new Map([['w', tensor]]) } as Partial<Checkpoint> as Checkpoint;
    return modelFingerprint(checkpoint, { recodings: new Map(), ropes: [], cacheDtype: 'f16' });
  };
  expect(await fingerprint([0, 1, 2, 3])).toBe(await fingerprint([9, 1, 2, 9]));
  expect(await fingerprint([0, 1, 2, 3])).not.toBe(await fingerprint([0, 1, 7, 3]));
});

it('tells cache types apart', async () => {
  const checkpoint = { headerHash: 'header', tensors: new Map() } as Partial<Checkpoint> as Checkpoint;
  const names = (['f32', 'f16', 'q8', 'q8'] as const).map((cacheDtype) =>
    modelFingerprint(checkpoint, { recodings: new Map(), ropes: [], cacheDtype }),
  );
  expect(new Set(await Promise.all(names)).size).toBe(3);
});
