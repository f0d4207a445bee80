import { DerivedFile, UnsupportedError, type WeightSource, type WeightSpec, weightDtypes } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { readTensor, requireWeightDtype } from './read-tensor.ts';
import { transposedFile } from './transposed-file.ts';

/**
 * A tensor as a backend takes it: the bytes as they lie where the file keeps the weight in the form that the model asks for,
 * else a file whose bytes are worked out when they are read.
 *
 * @param spec what the model adds to the weight, and which way round it takes the matrix
 * @throws UnsupportedError that names tensor and type when Hearth does not compute with it, or cannot transpose it
 */
export function weightSource(tensor: CheckpointTensor, spec: Pick<WeightSpec, 'transposed' | 'plus'>): WeightSource {
  const { name, file, offset, byteLength, rowOrder, columnOrder } = tensor;
  const dtype = requireWeightDtype(tensor);
  if (tensor.shape.length < 1 || tensor.shape.length > 2) {
    refuse(tensor, `has the shape [${tensor.shape.join(', ')}]; weights are matrices or vectors`);
  }
  const shape = spec.transposed ? [...tensor.shape].reverse() : tensor.shape;
  const stored = {
    dtype,
    file,
    offset,
    byteLength,
    ...(rowOrder && { rowOrder }),
    ...(columnOrder && { columnOrder }),
  };
  if ((spec.plus ?? 0) !== (tensor.plus ?? 0)) {
    if (spec.transposed) refuse(tensor, 'cannot be transposed and added to at once');
    return { name, shape, dtype: 'f32', ...increased(tensor, spec.plus ?? 0) };
  }
  if ((spec.transposed ?? false) === (tensor.transposed ?? false)) return { name, shape, ...stored };
  if (weightDtypes[dtype].blockElements > 1) {
    refuse(tensor, `has the type ${dtype}, whose blocks cannot be transposed; the model takes it the other way round`);
  }
  if (rowOrder || columnOrder || shape.length !== 2) refuse(tensor, 'cannot be transposed: it is no matrix in order');
  const asStored = [shape[1]!, shape[0]!] as const;
  return {
    name,
    shape,
    dtype,
    offset: 0,
    byteLength,
    file: transposedFile(tensor, asStored, weightDtypes[dtype].blockBytes),
  };
}

/** The tensor plus a number, as f32. Vectors are small, so they are worked out as a whole whenever they are read. */
function increased(tensor: CheckpointTensor, plus: number): Pick<WeightSource, 'file' | 'offset' | 'byteLength'> {
  const byteLength = 4 * tensor.shape.reduce((product, dim) => product * dim, 1);
  const file = new DerivedFile(`${tensor.file.path} (${tensor.name} + ${plus})`, byteLength, async (offset, length) => {
    const values = await readTensor(tensor);
    for (let i = 0; i < values.length; i++) values[i]! += plus;
    return new Uint8Array(values.buffer, offset, length);
  });
  return { file, offset: 0, byteLength };
}

function refuse(tensor: CheckpointTensor, problem: string): never {
  throw new UnsupportedError(`${tensor.file.path}: tensor "${tensor.name}" ${problem}.`, {
    details: { path: tensor.file.path, tensor: tensor.name, dtype: tensor.dtype, shape: tensor.shape },
  });
}
