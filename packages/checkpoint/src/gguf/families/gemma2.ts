import type { GgufArchitecture, TensorNames } from '../architecture.ts';
import type { ConfigFields } from '../config-fields.ts';
import {
  type DecoderConfig,
  decoderConfig,
  positiveOrNone,
  readWindow,
  refuseWhatIsNotSaid,
} from '../decoder-config.ts';
import { headDimOf, putDecoder, refuseOtherLayerTypes, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import { refuseScaling, ropeOf, ropeScalingFromKeys } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { llamaNames } from './llama-names.ts';

/** Layers of the 27B, whose attention is scaled otherwise. */
const layersOf27B = 46;

/** Gemma's four norms of a layer. `ffn_norm` stands before the feed-forward network, as in Llama, but is called otherwise. */
const gemmaModules: ReadonlyMap<string, string> = new Map([
  ...llamaNames.modules,
  ['post_attention_norm', 'post_attention_layernorm'],
  ['ffn_norm', 'pre_feedforward_layernorm'],
  ['post_ffw_norm', 'post_feedforward_layernorm'],
]);

/** As in Llama, but for `ignoredStored`: no Gemma has frequency factors, so a tensor of them is refused. */
export const gemmaNames: TensorNames = {
  globals: llamaNames.globals,
  layerPrefix: llamaNames.layerPrefix,
  modules: gemmaModules,
  normPlus: 1,
  ignoredHuggingFace: llamaNames.ignoredHuggingFace,
};

/** Gemma 2: logits are capped, every other layer attends to a window. The head is always the embedding table. */
export const gemma2: GgufArchitecture = {
  name: 'gemma2',
  modelTypes: ['gemma2'],
  tiedByDefault: true,
  tensors: {
    ...gemmaNames,
    globals: new Map([...llamaNames.globals].filter(([stored]) => stored !== 'output.weight')),
  },

  async readConfig(contents) {
    const { fields } = contents;
    refuseWhatIsNotSaid(fields, [
      'attention.sliding_window',
      'attention.sliding_window_pattern',
      'attn_logit_softcapping',
      'final_logit_softcapping',
    ]);
    const patternKey = fields.key('attention.sliding_window_pattern');
    const pattern = fields.raw(patternKey);
    if (pattern !== undefined && pattern !== 2) fields.unsupported(patternKey, 'must be 2: every other layer slides');
    const decoder = decoderConfig(contents);
    ropeScalingFromKeys(fields, []);
    return {
      architectures: ['Gemma2ForCausalLM'],
      model_type: 'gemma2',
      ...decoder,
      hidden_activation: 'gelu_pytorch_tanh',
      attention_bias: false,
      query_pre_attn_scalar: queryScalar(decoder, layersOf27B),
      // The first files say none of the three; these are the values of all released models.
      sliding_window: readWindow(fields, 4096),
      attn_logit_softcapping: positiveOrNone(fields, 'attn_logit_softcapping', 50),
      final_logit_softcapping: positiveOrNone(fields, 'final_logit_softcapping', 30),
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseOtherThanGemma(config, layersOf27B);
    refuseOtherLayerTypes(config, (layer) => layer % 2 === 0);
    const { type, theta } = ropeOf(config);
    if (type !== 'default') refuseScaling(type);
    putDecoder(config, metadata);
    metadata.f32('rope.freq_base', theta);
    metadata.u32('attention.sliding_window', config.requiredNumber('sliding_window'));
    // 0 is none, for readers that take the released values where a key is missing.
    metadata.f32('attn_logit_softcapping', config.number('attn_logit_softcapping') ?? 0);
    metadata.f32('final_logit_softcapping', config.number('final_logit_softcapping') ?? 0);
    putTokenIds(config, metadata);
    return [];
  },
};

/**
 * What queries are divided by the square root of: the head's dimensions, but for the 27B, which is known by its layers, the
 * hidden size shared among the heads. GGUF has no key for it.
 */
export function queryScalar(
  {
    num_hidden_layers,
    num_attention_heads,
    hidden_size,
    head_dim,
  }: Pick<DecoderConfig, 'num_hidden_layers' | 'num_attention_heads' | 'hidden_size' | 'head_dim'>,
  layersOf27B: number,
): number {
  return num_hidden_layers === layersOf27B ? hidden_size / num_attention_heads : head_dim;
}

/** Refuses what neither Gemma 2 nor Gemma 3 can say in GGUF. */
export function refuseOtherThanGemma(config: ConfigFields, layersOf27B: number): void {
  refuseWhatHasNoKey(config, 'hidden_activation', 'gelu_pytorch_tanh');
  config.refuseUnless('attention_bias', [false]);
  config.refuseUnless('partial_rotary_factor', [1]);
  const expected = queryScalar(
    {
      num_hidden_layers: config.requiredNumber('num_hidden_layers'),
      num_attention_heads: config.requiredNumber('num_attention_heads'),
      hidden_size: config.requiredNumber('hidden_size'),
      head_dim: headDimOf(config),
    },
    layersOf27B,
  );
  config.refuseUnless('query_pre_attn_scalar', [expected]);
}
