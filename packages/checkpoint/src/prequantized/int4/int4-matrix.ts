import { InvalidModelError, throwIfAborted, UnsupportedError, weightByteLength } from '@hearth/core';
import type { CheckpointTensor } from '../../checkpoint.ts';
import { checkMember, type QuantizedModule } from '../module-members.ts';
import type { Int4Packing, Int4Quantization } from '../quantization.ts';
import type { QuantizedTensorsOptions } from '../quantized-tensors.ts';
import { readColumnOrder } from './column-order.ts';
import { int4File } from './int4-file.ts';

/** More columns than any layer has; as many numbers of groups are read when a checkpoint is opened. */
const maxColumns = 2 ** 20;

/** A matrix [rows, columns] of AWQ or GPTQ, whose members were checked against each other. */
export interface Int4Matrix {
  /** `X.weight` */
  readonly name: string;
  readonly rows: number;
  /** A multiple of 32. */
  readonly columns: number;
  readonly dtype: 'int4_g32' | 'int4_g128';
  /** Columns of a group, a multiple of 32. The last group has what is left. */
  readonly groupSize: number;
  readonly numGroups: number;
  readonly packing: Int4Packing;
  /** i32: [columns / 8, rows] of GPTQ, [columns, rows / 8] of AWQ */
  readonly qweight: CheckpointTensor;
  /** i32 [numGroups, rows / 8] */
  readonly qzeros: CheckpointTensor;
  /** f16 or bf16 [numGroups, rows] */
  readonly scales: CheckpointTensor;
  /** Column i of the result is column `columnOrder[i]` of the matrix. Absent when columns are in order. */
  readonly columnOrder?: Uint32Array;
}

/** Makes one tensor of the members of a module: `int4_g128` where groups and rows are multiples of 128, else `int4_g32`. */
export async function readInt4Matrix(
  module: QuantizedModule,
  quantization: Int4Quantization,
  { isTransposed, signal }: QuantizedTensorsOptions,
): Promise<CheckpointTensor> {
  const matrix = checkMembers(module, quantization);
  const gIdx = quantization.isActOrder ? module.require('g_idx') : module.members.get('g_idx');
  throwIfAborted(signal);
  const columnOrder = gIdx && (await readColumnOrder(gIdx, matrix));
  const { name, rows, columns, dtype, qweight } = matrix;
  const order = columnOrder && { columnOrder };
  const turned = isTransposed?.(name);
  return {
    name,
    storedName: qweight.storedName,
    dtype,
    shape: turned ? [columns, rows] : [rows, columns],
    file: int4File({ ...matrix, ...order }),
    offset: 0,
    byteLength: weightByteLength(dtype, rows * columns),
    ...order,
    ...(turned && { transposed: true }),
  };
}

function checkMembers(module: QuantizedModule, { packing, groupSize: wanted }: Int4Quantization): Int4Matrix {
  const [qweight, qzeros, scales] = ['qweight', 'qzeros', 'scales'].map((member) => module.require(member)) as [
    CheckpointTensor,
    CheckpointTensor,
    CheckpointTensor,
  ];
  const [first = 0, second = 0] = qweight.shape;
  const isAcross = packing.neighbours === 'columns';
  const [rows, columns] = isAcross ? [second, 8 * first] : [8 * second, first];
  const refuse = (problem: string) => refuseShape(module.weightName, qweight, [rows, columns], problem);
  if (qweight.dtype !== 'i32' || qweight.shape.length !== 2 || rows === 0 || columns === 0) {
    throw new InvalidModelError(
      `${qweight.file.path}: tensor "${qweight.name}" is ${qweight.dtype} of the shape [${qweight.shape.join(', ')}], expected i32 ${isAcross ? '[columns / 8, rows]' : '[columns, rows / 8]'}.`,
      { details: { path: qweight.file.path, tensor: qweight.name, dtype: qweight.dtype, shape: qweight.shape } },
    );
  }
  if (rows % 8 !== 0) refuse('zero points come eight to a word, so rows must be a multiple of 8');
  if (columns % 32 !== 0) refuse('columns must be a multiple of 32');
  if (columns > maxColumns) refuse(`at most ${maxColumns} columns are accepted`);
  const groupSize = wanted ?? columns;
  // AutoAWQ has no form for columns that are left over; GPTQ gives them a group of their own.
  if (packing.name === 'awq' && columns % groupSize !== 0)
    refuse(`columns must be a multiple of group_size ${groupSize}`);
  const numGroups = Math.ceil(columns / groupSize);
  checkMember(qzeros, ['i32'], [[numGroups, rows / 8]]);
  checkMember(scales, ['f16', 'bf16'], [[numGroups, rows]]);
  const dtype = columns % 128 === 0 && groupSize % 128 === 0 ? 'int4_g128' : 'int4_g32';
  return { name: module.weightName, rows, columns, dtype, groupSize, numGroups, packing, qweight, qzeros, scales };
}

function refuseShape(name: string, { file }: CheckpointTensor, shape: readonly number[], problem: string): never {
  throw new UnsupportedError(
    `${file.path}: the matrix "${name}" is [${shape.join(', ')}] in 4 bits, which is not supported: ${problem}.`,
    { details: { path: file.path, tensor: name, shape } },
  );
}
