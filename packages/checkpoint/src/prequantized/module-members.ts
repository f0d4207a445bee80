import { InvalidModelError } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import type { Quantization } from './quantization.ts';

/** The tensors of one quantized matrix. */
export class QuantizedModule {
  /** `model.layers.0.mlp.up_proj` */
  readonly name: string;
  readonly members = new Map<string, CheckpointTensor>();

  constructor(name: string) {
    this.name = name;
  }

  /** The name of the matrix that the members make together. */
  get weightName(): string {
    return `${this.name}.weight`;
  }

  /** @throws InvalidModelError that names the missing member */
  require(member: string): CheckpointTensor {
    const tensor = this.members.get(member);
    if (tensor) return tensor;
    const [other] = this.members.values();
    throw new InvalidModelError(
      `Tensor "${this.name}.${member}" is missing, but "${other!.name}" is in ${other!.file.path}. The download is incomplete, or quantization_config in config.json is of another form.`,
      { details: { tensor: `${this.name}.${member}`, path: other!.file.path } },
    );
  }
}

const int4Members = ['qweight', 'qzeros', 'scales', 'g_idx'];
const fp8Scales = ['weight_scale_inv', 'weight_scale'];
/** Of the activations, which are not rounded: not read. */
const fp8Activations = ['input_scale', 'input_scale_ub', 'activation_scale'];

/**
 * Finds the quantized matrices among the tensors of a checkpoint.
 * @returns for the name of every tensor that is a member, its module
 * @throws InvalidModelError for a matrix that is there both quantized and plain
 */
export function collectModules(
  tensors: ReadonlyMap<string, CheckpointTensor>,
  kind: Quantization['kind'],
): ReadonlyMap<string, QuantizedModule> {
  const wanted = new Set(kind === 'int4' ? int4Members : [...fp8Scales, ...fp8Activations]);
  const modules = new Map<string, QuantizedModule>();
  const byTensor = new Map<string, QuantizedModule>();
  const add = (tensor: CheckpointTensor, name: string, member: string) => {
    const module = modules.get(name) ?? new QuantizedModule(name);
    module.members.set(member, tensor);
    modules.set(name, module);
    byTensor.set(tensor.name, module);
  };
  for (const tensor of tensors.values()) {
    const dot = tensor.name.lastIndexOf('.');
    if (dot < 0) continue;
    const [name, member] = [tensor.name.slice(0, dot), tensor.name.slice(dot + 1)];
    const isCode = kind === 'fp8' && member === 'weight' && tensor.dtype.startsWith('f8_');
    if (wanted.has(member) || isCode) add(tensor, name, member);
  }
  for (const module of modules.values()) {
    const plain = tensors.get(module.weightName);
    if (plain === undefined || byTensor.has(plain.name)) continue;
    const [other] = module.members.values();
    throw new InvalidModelError(
      `${plain.file.path}: tensor "${plain.name}" has the type ${plain.dtype}, but "${other!.name}" belongs to a quantized matrix of the same name.`,
      { details: { path: plain.file.path, tensor: plain.name } },
    );
  }
  return byTensor;
}

/** @throws InvalidModelError unless the member has one of the types and the shape */
export function checkMember(
  tensor: CheckpointTensor,
  dtypes: readonly string[],
  shapes: readonly (readonly number[])[],
): void {
  const hasShape = shapes.some((shape) => shape.join() === tensor.shape.join());
  if (dtypes.includes(tensor.dtype) && hasShape) return;
  const wanted = `${dtypes.join(' or ')} of the shape ${shapes.map((shape) => `[${shape.join(', ')}]`).join(' or ')}`;
  throw new InvalidModelError(
    `${tensor.file.path}: tensor "${tensor.name}" is ${tensor.dtype} of the shape [${tensor.shape.join(', ')}], expected ${wanted}.`,
    { details: { path: tensor.file.path, tensor: tensor.name, dtype: tensor.dtype, shape: tensor.shape } },
  );
}
