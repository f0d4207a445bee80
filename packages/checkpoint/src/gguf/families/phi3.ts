import type { GgufArchitecture } from '../architecture.ts';
import { decoderConfig, maxDimension, readWindow, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { headDimOf, putDecoder, refuseOtherLayerTypes, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import { putLongrope, readLongrope } from '../longrope.ts';
import { refuseScaling, ropeOf } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { llamaNames } from './llama-names.ts';

/** Window of the models with this context, whose first files do not say it. */
const windowOf4k = { contextLength: 4096, window: 2047 };

/** Phi-3, 3.5 and 4: queries, keys and values in one projection, gate and up in another; longrope; a part of each head rotated. */
export const phi3: GgufArchitecture = {
  name: 'phi3',
  modelTypes: ['phi3'],
  tiedByDefault: false,
  tensors: {
    ...llamaNames,
    modules: new Map([
      ['attn_norm', 'input_layernorm'],
      ['attn_qkv', 'self_attn.qkv_proj'],
      ['attn_output', 'self_attn.o_proj'],
      ['ffn_norm', 'post_attention_layernorm'],
      ['ffn_up', 'mlp.gate_up_proj'],
      ['ffn_down', 'mlp.down_proj'],
    ]),
    ignoredStored: /^rope_factors_(long|short)\.weight$/,
  },

  async readConfig(contents) {
    const { fields } = contents;
    refuseWhatIsNotSaid(fields, ['attention.sliding_window']);
    const decoder = decoderConfig(contents, { partialRotary: true });
    const { head_dim: headDim, max_position_embeddings: contextLength } = decoder;
    const rotaryKey = fields.key('rope.dimension_count');
    const rotaryDim = fields.integer(rotaryKey, 2, headDim) ?? headDim;
    if (rotaryDim % 2 !== 0) fields.invalid(rotaryKey, `is ${rotaryDim}; pairs are rotated, so it must be even`);
    const original = fields.integer(fields.key('rope.scaling.original_context_length'), 1, maxDimension);
    return {
      architectures: ['Phi3ForCausalLM'],
      model_type: 'phi3',
      ...decoder,
      hidden_act: 'silu',
      ...(rotaryDim !== headDim && { partial_rotary_factor: rotaryDim / headDim }),
      rope_scaling: await readLongrope(contents, contextLength, rotaryDim),
      ...(original !== undefined && { original_max_position_embeddings: original }),
      sliding_window: readWindow(fields, contextLength === windowOf4k.contextLength ? windowOf4k.window : null),
      attention_bias: false,
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseWhatHasNoKey(config);
    config.refuseUnless('attention_bias', [false]);
    refuseOtherLayerTypes(config, () => config.has('sliding_window'));
    const { rope, type, theta } = ropeOf(config);
    // Rounded as in Transformers.
    const rotaryDim = Math.trunc(headDimOf(config) * (config.number('partial_rotary_factor') ?? 1));
    putDecoder(config, metadata, rotaryDim);
    metadata.f32('rope.freq_base', theta);
    // 0 is none, for readers that give a window to small contexts where the key is missing.
    metadata.u32('attention.sliding_window', config.number('sliding_window') ?? 0);
    const original =
      config.number('original_max_position_embeddings') ?? rope.number('original_max_position_embeddings');
    metadata.u32('rope.scaling.original_context_length', original);
    putTokenIds(config, metadata);
    // "su" is what the first configs call longrope.
    if (type !== 'longrope' && type !== 'su') return type === 'default' ? [] : refuseScaling(type);
    const contextLength = config.requiredNumber('max_position_embeddings');
    return putLongrope(rope, metadata, { contextLength, original: original ?? contextLength, rotaryDim });
  },
};
