import { InvalidModelError } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { readFp8Matrix } from './fp8/fp8-matrix.ts';
import { readInt4Matrix } from './int4/int4-matrix.ts';
import { collectModules, type QuantizedModule } from './module-members.ts';
import type { Quantization } from './quantization.ts';

export interface QuantizedTensorsOptions {
  /** Whether the checkpoint of this model holds the matrix of that name as [columns, rows]. */
  readonly isTransposed?: (name: string) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * The tensors of a quantized checkpoint as the model names them: the members of each quantized matrix become one tensor
 * `X.weight`, whose bytes are worked out when they are read; all others stay as they are. Which matrices are quantized is told
 * by the tensors, so the lists of exceptions in config.json need not be believed.
 *
 * Of the weights only `g_idx` is read, which says where the columns are.
 *
 * @throws InvalidModelError for members that are missing, of another type or shape than the others ask for, or superfluous
 * @throws UnsupportedError for shapes that do not fit Hearth's blocks
 */
export async function quantizedTensors(
  tensors: ReadonlyMap<string, CheckpointTensor>,
  quantization: Quantization,
  options: QuantizedTensorsOptions = {},
): Promise<Map<string, CheckpointTensor>> {
  const modules = collectModules(tensors, quantization.kind);
  if (modules.size === 0) {
    const [first] = tensors.values();
    throw new InvalidModelError(
      `${first?.file.path}: config.json has a quantization_config, but no tensor is quantized so. The weights and config.json are of different models, or belong to another form.`,
    );
  }
  const result = new Map<string, CheckpointTensor>();
  const add = (tensor: CheckpointTensor) => result.set(tensor.name, tensor);
  const done = new Set<QuantizedModule>();
  for (const tensor of tensors.values()) {
    const module = modules.get(tensor.name);
    if (module === undefined) add(tensor);
    if (module === undefined || done.has(module)) continue;
    done.add(module);
    add(
      quantization.kind === 'int4'
        ? await readInt4Matrix(module, quantization, options)
        : readFp8Matrix(module, quantization),
    );
  }
  return result;
}
