import { MemoryFile } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import type { CheckpointTensor } from '../../checkpoint.ts';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';
import { awqTensors, dealtOut, gptqTensors, madeUpCodes } from '../__fixtures__/int4-tensors.ts';
import { int4File } from './int4-file.ts';
import type { Int4Matrix } from './int4-matrix.ts';

/** Counts how often each byte was read. */
class CountingFile extends MemoryFile {
  readonly counts: Uint8Array;
  longest = 0;

  constructor(bytes: Uint8Array) {
    super(bytes, 'weights');
    this.counts = new Uint8Array(bytes.length);
  }

  override async read(offset: number, length: number): Promise<Uint8Array> {
    for (let i = 0; i < length; i++) this.counts[offset + i]!++;
    this.longest = Math.max(this.longest, length);
    return super.read(offset, length);
  }
}

type Member = CheckpointTensor & { readonly file: CountingFile };

/** 512 rows of 384 columns in groups of 64. */
function matrixOf(kind: 'awq' | 'gptq' | 'act-order'): Int4Matrix & Record<'qweight' | 'qzeros' | 'scales', Member> {
  const [rows, columns, groupSize] = [512, 384, 64];
  const codes = madeUpCodes(rows, columns, groupSize, kind === 'act-order' ? dealtOut(columns, groupSize) : undefined);
  const tensors = kind === 'awq' ? awqTensors('m', codes) : gptqTensors('m', codes, { version: 2 });
  const [qweight, qzeros, scales] = tensors.map(({ name, dtype, shape, data }: TensorToWrite): Member => {
    const bytes = data() as Uint8Array;
    return { name, storedName: name, dtype, shape, offset: 0, byteLength: bytes.length, file: new CountingFile(bytes) };
  }) as [Member, Member, Member];
  const order = Array.from({ length: columns }, (_, i) => i).sort(
    (a, b) => codes.groupOf(a) - codes.groupOf(b) || a - b,
  );
  return {
    ...{ name: 'm.weight', rows, columns, dtype: 'int4_g32', groupSize, numGroups: 6, qweight, qzeros, scales },
    packing: {
      name: kind === 'awq' ? 'awq' : 'gptq',
      neighbours: kind === 'awq' ? 'rows' : 'columns',
      nibbleOrder: kind === 'awq' ? [0, 2, 4, 6, 1, 3, 5, 7] : [0, 1, 2, 3, 4, 5, 6, 7],
      zeroOffset: 0,
      isSymmetric: false,
    },
    ...(kind === 'act-order' && { columnOrder: Uint32Array.from(order) }),
  };
}

const rowBytes = (384 / 32) * 20;

describe.each(['awq', 'gptq', 'act-order'] as const)('the packed rows of %s', (kind) => {
  it('are the same in whatever pieces and slabs', async () => {
    const whole = await int4File(matrixOf(kind)).read(0, 512 * rowBytes);
    for (const slabRows of [8, 24, 200, 512]) {
      const file = int4File(matrixOf(kind), slabRows * rowBytes);
      for (const step of [rowBytes * 37, 1000, 77_777]) {
        const pieces = new Uint8Array(whole.length);
        for (let at = 0; at < whole.length; at += step) {
          pieces.set(await file.read(at, Math.min(step, whole.length - at)), at);
        }
        expect(Buffer.compare(pieces, whole)).toBe(0);
      }
      const [from, to] = [300 * rowBytes + 7, 301 * rowBytes];
      expect(await file.read(from, to - from)).toEqual(whole.slice(from, to));
    }
  });

  it('come from one pass over each byte, or five where slabs are wide strips', async () => {
    // 64 of 512 rows are narrow strips, 192 are wide ones: three slabs.
    for (const [slabRows, passes] of [
      [512, 1],
      [192, 3],
      [64, 1],
    ] as const) {
      const matrix = matrixOf(kind);
      const file = int4File(matrix, slabRows * rowBytes);
      for (let row = 0; row < 512; row += 16) await file.read(row * rowBytes, 16 * rowBytes);
      for (const member of [matrix.qweight, matrix.qzeros, matrix.scales]) {
        expect(new Set(member.file.counts), `${member.name} with slabs of ${slabRows}`).toEqual(new Set([passes]));
      }
    }
  });
});
