import { InvalidModelError, UnsupportedError, weightByteLength } from '@hearth/core';
import type { CheckpointTensor } from '../../checkpoint.ts';
import { checkMember, type QuantizedModule } from '../module-members.ts';
import type { Fp8Quantization } from '../quantization.ts';
import { fp8File } from './fp8-file.ts';

/** A matrix [rows, columns] of e4m3 codes, whose scales were checked against it. */
export interface Fp8Matrix {
  /** f8_e4m3 [rows, columns]; columns are a multiple of 32. */
  readonly codes: CheckpointTensor;
  /** f32, bf16 or f16: one for each block, row after row. */
  readonly scales: CheckpointTensor;
  /** Rows and columns that share a scale; the last blocks may be cut off by the end of the matrix. */
  readonly block: readonly [number, number];
}

/** Makes one tensor of the codes and scales of a module. Whether scales are of the matrix or of rows, their shape says. */
export function readFp8Matrix(module: QuantizedModule, quantization: Fp8Quantization): CheckpointTensor {
  const codes = module.require('weight');
  const { name, storedName, dtype, shape, file } = codes;
  const [rows = 0, columns = 0] = shape;
  const details = { path: file.path, tensor: name, dtype, shape };
  if (dtype !== 'f8_e4m3' || shape.length !== 2) {
    const found = `is ${dtype} of the shape [${shape.join(', ')}]`;
    throw new UnsupportedError(`${file.path}: tensor "${name}" ${found}; supported are matrices of f8_e4m3.`, {
      details,
    });
  }
  if (columns % 32 !== 0) {
    throw new UnsupportedError(
      `${file.path}: tensor "${name}" is f8_e4m3 of the shape [${shape.join(', ')}]; its columns must be a multiple of 32.`,
      { details },
    );
  }
  const scales = requireScales(module, quantization);
  const matrix: Fp8Matrix = { codes, scales, block: scaleBlock(scales, [rows, columns], quantization.block) };
  const byteLength = weightByteLength('f8_e4m3', rows * columns);
  return { name, storedName, dtype, shape, file: fp8File(matrix), offset: 0, byteLength };
}

/** `weight_scale_inv` or `weight_scale`: both are what codes are multiplied by. */
function requireScales(module: QuantizedModule, { block }: Fp8Quantization): CheckpointTensor {
  const [inverse, plain] = ['weight_scale_inv', 'weight_scale'].map((member) => module.members.get(member));
  if (inverse && plain) {
    throw new InvalidModelError(
      `${plain.file.path}: "${module.weightName}" has two tensors of scales, "${inverse.name}" and "${plain.name}".`,
      { details: { path: plain.file.path, tensor: plain.name } },
    );
  }
  return inverse ?? plain ?? module.require(block ? 'weight_scale_inv' : 'weight_scale');
}

/** The block that a scale is for. */
function scaleBlock(
  scales: CheckpointTensor,
  [rows, columns]: readonly [number, number],
  block: readonly [number, number] | null,
): readonly [number, number] {
  const dtypes = ['f32', 'bf16', 'f16'];
  if (block) {
    checkMember(scales, dtypes, [[Math.ceil(rows / block[0]), Math.ceil(columns / block[1])]]);
    return block;
  }
  checkMember(scales, dtypes, [[], [1], [1, 1], [rows], [rows, 1]]);
  const isOfMatrix = scales.shape.every((size) => size === 1);
  return isOfMatrix ? [rows, columns] : [1, columns];
}
