import { UnsupportedError, type WeightSource } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { requireWeightDtype } from './read-tensor.ts';

/**
 * A tensor as a backend takes it.
 * @throws UnsupportedError that names tensor and type when Hearth does not compute with it
 */
export function weightSource(tensor: CheckpointTensor): WeightSource {
  const dtype = requireWeightDtype(tensor);
  if (tensor.shape.length < 1 || tensor.shape.length > 2) {
    throw new UnsupportedError(
      `${tensor.file.path}: tensor "${tensor.name}" has the shape [${tensor.shape.join(', ')}]; weights are matrices or vectors.`,
      { details: { path: tensor.file.path, tensor: tensor.name, shape: tensor.shape } },
    );
  }
  return {
    name: tensor.name,
    dtype,
    shape: tensor.shape,
    file: tensor.file,
    offset: tensor.offset,
    byteLength: tensor.byteLength,
    ...(tensor.rowOrder && { rowOrder: tensor.rowOrder }),
  };
}
