import { packedByteLength, type WeightDtype } from '@hearth/core';
import { type KernelCase, kernelCase, measuredName, view } from './kernel-case.ts';

const tokenCounts = [1, 2, 4, 8, 64];

export interface LinearSize {
  readonly rows: number;
  readonly columns: number;
  /** Bytes that the matrices of a program take together, so that none is in a cache when its turn comes again. */
  readonly totalBytes: number;
}

/** Products with many matrices in turn, as the layers of a model have them. */
export function linearCases(dtypes: readonly WeightDtype[], { rows, columns, totalBytes }: LinearSize): KernelCase[] {
  return dtypes.flatMap((dtype) => {
    const count = Math.ceil(totalBytes / packedByteLength(dtype, rows, columns));
    const matrices = Array.from({ length: count }, (_, i) => i);
    return tokenCounts.map((numTokens) =>
      kernelCase({
        ...{ group: 'linear', kernel: dtype, shape: `${numTokens}`, numTokens },
        inputWidth: columns,
        outWidth: rows,
        weights: matrices.map(() => ({ dtype, shape: [rows, columns] })),
        ops: matrices.map((weight) => ({
          kind: 'linear',
          name: measuredName,
          x: view(0, columns),
          weights: [weight],
          biases: [null],
          out: view(1, rows),
        })),
      }),
    );
  });
}
