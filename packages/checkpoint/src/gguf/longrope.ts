import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import type { GgufContents, PlacedTensor } from './architecture.ts';
import type { ConfigFields } from './config-fields.ts';
import { maxDimension } from './decoder-config.ts';
import type { MetadataBuilder } from './metadata-builder.ts';
import { shortestF32 } from './metadata-fields.ts';
import { factorsTensor, readFactors } from './rope-scaling.ts';

const longName = 'rope_factors_long.weight';
const shortName = 'rope_factors_short.weight';

/** Relative; the factor went through f32 and was worked out in f64 by other code. */
const tolerance = 1e-5;

/**
 * By how much longrope scales sine and cosine (LongRoPE, Ding et al. 2024, as Phi-3 has it): sqrt(1 + ln(s) / ln(original))
 * for a context that is s times the original one.
 */
function attentionFactor(contextLength: number, original: number): number {
  const scale = contextLength / original;
  return scale <= 1 ? 1 : Math.sqrt(1 + Math.log(scale) / Math.log(original));
}

/** The longrope scaling of a Phi-3: divisors of the frequencies for short and long contexts are tensors. Null when it has none. */
export async function readLongrope(
  { path, fields, tensors }: GgufContents,
  contextLength: number,
  rotaryDim: number,
): Promise<Record<string, unknown> | null> {
  const [long, short] = [tensors.get(longName), tensors.get(shortName)];
  const typeKey = fields.key('rope.scaling.type');
  const type = fields.text(typeKey) ?? (long || short ? 'longrope' : 'none');
  if (type !== 'none' && type !== 'longrope') {
    fields.unsupported(typeKey, `is "${type}"; supported are none and longrope`);
  }
  const attnKey = fields.key('rope.scaling.attn_factor');
  const attnFactor = fields.positive(attnKey);
  const original = fields.integer(fields.key('rope.scaling.original_context_length'), 1, maxDimension);
  if (!long && !short) {
    if (type === 'longrope')
      fields.invalid(typeKey, `is longrope, but the tensors "${longName}" and "${shortName}" are missing`);
    if (attnFactor !== undefined && attnFactor !== 1)
      fields.unsupported(attnKey, `is ${attnFactor} without longrope factors`);
    return null;
  }
  if (type === 'none') fields.unsupported(typeKey, `is none, but there is a tensor "${(long ?? short)!.name}"`);
  if (!long || !short)
    return fields.invalid(typeKey, `is longrope, but the tensor "${long ? shortName : longName}" is missing`);
  if (original === undefined)
    return fields.invalid(fields.key('rope.scaling.original_context_length'), 'is missing, longrope needs it');
  const decimals = async (tensor: PlacedTensor) => {
    const factors = await readFactors(path, tensor, rotaryDim / 2);
    const bad = factors.find((factor) => !(factor > 0 && Number.isFinite(factor)));
    if (bad !== undefined) fields.invalid(typeKey, `is longrope, but the tensor "${tensor.name}" holds ${bad}`);
    return Array.from(factors, shortestF32);
  };
  const scaling: Record<string, unknown> = {
    // Transformers knows the type of a Phi-3 under this name only.
    type: 'longrope',
    short_factor: await decimals(short),
    long_factor: await decimals(long),
  };
  const expected = attentionFactor(contextLength, original);
  if (attnFactor !== undefined && Math.abs(attnFactor - expected) > tolerance * expected) {
    scaling.attention_factor = attnFactor;
  }
  return scaling;
}

/** The reverse: `rope` is the rope_scaling of type longrope. */
export function putLongrope(
  rope: ConfigFields,
  metadata: MetadataBuilder,
  sizes: { readonly contextLength: number; readonly original: number; readonly rotaryDim: number },
): TensorToWrite[] {
  rope.refuseOthers([
    ...['rope_type', 'type', 'rope_theta', 'short_factor', 'long_factor', 'attention_factor'],
    // The config says it outside too; what it has here is the same number.
    'original_max_position_embeddings',
  ]);
  metadata.f32(
    'rope.scaling.attn_factor',
    rope.number('attention_factor') ?? attentionFactor(sizes.contextLength, sizes.original),
  );
  return (
    [
      [longName, 'long_factor'],
      [shortName, 'short_factor'],
    ] as const
  ).map(([tensor, field]) => {
    const factors = rope.numbers(field) ?? rope.invalid(field, 'is missing');
    if (factors.length !== sizes.rotaryDim / 2) {
      rope.invalid(field, `has ${factors.length} numbers, expected ${sizes.rotaryDim / 2}`);
    }
    return factorsTensor(tensor, Float32Array.from(factors));
  });
}
