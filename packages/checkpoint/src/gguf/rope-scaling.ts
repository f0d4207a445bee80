import { InvalidArgumentError, UnsupportedError } from '@hearth/core';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import type { GgufContents, PlacedTensor } from './architecture.ts';
import type { ConfigFields } from './config-fields.ts';
import { maxDimension } from './decoder-config.ts';
import { headDimOf } from './decoder-metadata.ts';
import type { MetadataBuilder } from './metadata-builder.ts';
import type { MetadataFields } from './metadata-fields.ts';
import { type Llama3RopeScaling, llama3FrequencyFactors, ropeScalingFromFactors } from './rope-frequencies.ts';

/** `rope_scaling` from either of its two homes: metadata keys, or the tensor of frequency factors (Llama 3). */
export async function readRopeScaling(
  { path, fields, tensors }: GgufContents,
  { rope_theta, head_dim }: { readonly rope_theta: number; readonly head_dim: number },
): Promise<Record<string, unknown> | null> {
  const fromKeys = ropeScalingFromKeys(fields, ['linear', 'yarn']);
  const frequencies = tensors.get('rope_freqs.weight');
  if (frequencies === undefined) return fromKeys;
  const refuse = (problem: string): never => {
    throw new UnsupportedError(`${path}: tensor "rope_freqs.weight" ${problem}.`, {
      details: { path, tensor: frequencies.name },
    });
  };
  if (fromKeys) refuse('stands beside rope scaling keys; which of them counts is not known');
  const factors = await readFactors(path, frequencies, head_dim / 2);
  const scaling = ropeScalingFromFactors(factors, rope_theta, head_dim);
  if (scaling === undefined) return refuse('does not hold the frequency factors of a known rope scaling');
  return scaling === null ? null : { ...scaling };
}

/** The numbers of a tensor of `length` f32. */
export async function readFactors(path: string, tensor: PlacedTensor, length: number): Promise<Float32Array> {
  const { name, dtype, shape, file, offset, byteLength } = tensor;
  if (dtype !== 'f32' || shape.length !== 1 || shape[0] !== length) {
    throw new UnsupportedError(
      `${path}: tensor "${name}" has type ${dtype} and shape [${shape}], expected f32 [${length}].`,
      { details: { path, tensor: name } },
    );
  }
  const bytes = await file.read(offset, byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length }, (_, i) => view.getFloat32(i * 4, true));
}

/** @param supported the types that configs of the family have, beside none */
export function ropeScalingFromKeys(
  fields: MetadataFields,
  supported: readonly ('linear' | 'yarn')[],
): Record<string, unknown> | null {
  const key = (name: string) => fields.key(`rope.scaling.${name}`);
  const [factorKey, oldKey] = [key('factor'), fields.key('rope.scale_linear')];
  const oldFactor = fields.positive(oldKey);
  const factor = fields.positive(factorKey) ?? oldFactor;
  if (oldFactor !== undefined && oldFactor !== factor) {
    fields.invalid(oldKey, `is ${oldFactor}, but "${factorKey}", which is the same, is ${factor}`);
  }
  // Whatever the type: it scales sine and cosine also where frequencies stay as they are.
  const attentionFactor = fields.positive(key('attn_factor'));
  if (attentionFactor !== undefined && attentionFactor !== 1) {
    fields.unsupported(key('attn_factor'), `is ${attentionFactor}; only 1 is supported`);
  }
  const type = fields.text(key('type')) ?? (factor === undefined ? 'none' : 'linear');
  if (type === 'none') return null;
  if (!supported.includes(type as 'linear')) {
    const names = ['none', ...supported].join(', ').replace(/, (\w+)$/, ' and $1');
    return fields.unsupported(key('type'), `is "${type}"; supported are ${names}`);
  }
  if (factor === undefined) return fields.invalid(key('factor'), `is missing, ${type} scaling needs it`);
  if (type === 'linear') return factor === 1 ? null : { rope_type: 'linear', factor };
  const scaling: Record<string, unknown> = { rope_type: 'yarn', factor };
  const original = fields.integer(key('original_context_length'), 1, maxDimension);
  if (original !== undefined) scaling.original_max_position_embeddings = original;
  for (const name of ['beta_fast', 'beta_slow']) {
    const beta = fields.positive(key(`yarn_${name}`));
    if (beta !== undefined) scaling[name] = beta;
  }
  return scaling;
}

/** Fields of every type of scaling. */
const common = ['rope_type', 'type', 'rope_theta'];

/** `rope_scaling` and `rope_theta` of a config: newer ones hold both in `rope_parameters`. */
export function ropeOf(config: ConfigFields): {
  readonly rope: ConfigFields;
  readonly type: string;
  readonly theta: number;
} {
  const rope = config.has('rope_parameters') ? config.object('rope_parameters') : config.object('rope_scaling');
  const type = String(rope.raw('rope_type') ?? rope.raw('type') ?? 'default');
  if (rope.has('type') && rope.raw('type') !== type) {
    throw new InvalidArgumentError(`rope_scaling says both type "${rope.raw('type')}" and rope_type "${type}".`);
  }
  if (type === 'default') rope.refuseOthers(common);
  return { rope, type, theta: rope.number('rope_theta') ?? config.number('rope_theta') ?? 10_000 };
}

/** The reverse of `readRopeScaling`, with the base of the frequencies; Llama 3's factors are a tensor. */
export function putRopeScaling(config: ConfigFields, metadata: MetadataBuilder): TensorToWrite[] {
  const { rope, type, theta } = ropeOf(config);
  metadata.f32('rope.freq_base', theta);
  switch (type) {
    case 'default':
      return [];
    case 'linear':
      putLinearScaling(rope, metadata);
      return [];
    case 'yarn':
      putYarnScaling(rope, metadata);
      return [];
    case 'llama3': {
      const scaling: Llama3RopeScaling = {
        rope_type: 'llama3',
        factor: rope.requiredNumber('factor'),
        low_freq_factor: rope.requiredNumber('low_freq_factor'),
        high_freq_factor: rope.requiredNumber('high_freq_factor'),
        original_max_position_embeddings: rope.requiredNumber('original_max_position_embeddings'),
      };
      rope.refuseOthers([...common, ...Object.keys(scaling)]);
      return [factorsTensor('rope_freqs.weight', llama3FrequencyFactors(scaling, theta, headDimOf(config)))];
    }
    default:
      return refuseScaling(type);
  }
}

export function putLinearScaling(rope: ConfigFields, metadata: MetadataBuilder): void {
  rope.refuseOthers([...common, 'factor']);
  metadata.text('rope.scaling.type', 'linear');
  metadata.f32('rope.scaling.factor', rope.requiredNumber('factor'));
}

function putYarnScaling(rope: ConfigFields, metadata: MetadataBuilder): void {
  const betas = ['beta_fast', 'beta_slow'];
  rope.refuseOthers([...common, 'factor', 'original_max_position_embeddings', ...betas]);
  metadata.text('rope.scaling.type', 'yarn');
  metadata.f32('rope.scaling.factor', rope.requiredNumber('factor'));
  metadata.u32('rope.scaling.original_context_length', rope.number('original_max_position_embeddings'));
  for (const name of betas) metadata.f32(`rope.scaling.yarn_${name}`, rope.number(name));
}

export function factorsTensor(name: string, factors: Float32Array): TensorToWrite {
  return { name, dtype: 'f32', shape: [factors.length], data: () => new Uint8Array(factors.buffer) };
}

export function refuseScaling(type: string): never {
  throw new UnsupportedError(`rope_scaling type "${type}" cannot be written to a GGUF file of this architecture.`);
}
