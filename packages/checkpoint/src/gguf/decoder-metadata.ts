import type { ConfigFields } from './config-fields.ts';
import type { MetadataBuilder } from './metadata-builder.ts';

/** Dimensions of a head; where the config does not say, the hidden size is shared among the heads. */
export function headDimOf(config: ConfigFields): number {
  return (
    config.number('head_dim') ?? config.requiredNumber('hidden_size') / config.requiredNumber('num_attention_heads')
  );
}

/**
 * The reverse of `decoderConfig`, but for the rotary base.
 * @param rotaryDim dimensions of a head that are rotated
 */
export function putDecoder(config: ConfigFields, metadata: MetadataBuilder, rotaryDim = headDimOf(config)): void {
  const headDim = headDimOf(config);
  const numHeads = config.requiredNumber('num_attention_heads');
  metadata.u32('vocab_size', config.number('vocab_size'));
  metadata.u32('context_length', config.requiredNumber('max_position_embeddings'));
  metadata.u32('embedding_length', config.requiredNumber('hidden_size'));
  metadata.u32('block_count', config.requiredNumber('num_hidden_layers'));
  metadata.u32('feed_forward_length', config.requiredNumber('intermediate_size'));
  metadata.u32('attention.head_count', numHeads);
  metadata.u32('attention.head_count_kv', config.number('num_key_value_heads') ?? numHeads);
  metadata.u32('attention.key_length', headDim);
  metadata.u32('attention.value_length', headDim);
  metadata.f32('attention.layer_norm_rms_epsilon', config.requiredNumber('rms_norm_eps'));
  metadata.u32('rope.dimension_count', rotaryDim);
}

/** Refuses layers that attend otherwise than `isSliding` says, which is what readers of the architecture take for granted. */
export function refuseOtherLayerTypes(config: ConfigFields, isSliding: (layer: number) => boolean = () => false): void {
  const types = config.list('layer_types');
  const other = types?.findIndex((type, i) => type !== (isSliding(i) ? 'sliding_attention' : 'full_attention')) ?? -1;
  if (other >= 0) config.unsupported('layer_types', `says ${JSON.stringify(types![other])} for layer ${other}`);
}

/** Fields of all families that change what is computed and have no key. */
export function refuseWhatHasNoKey(config: ConfigFields, activationField = 'hidden_act', activation = 'silu'): void {
  config.refuseUnless(activationField, [activation]);
  config.refuseUnless('rope_interleaved', [false]);
  config.refuseUnless('use_bidirectional_attention', [false]);
}
