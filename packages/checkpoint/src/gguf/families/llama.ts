import type { GgufArchitecture } from '../architecture.ts';
import { decoderConfig, readWindow, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putDecoder, refuseOtherLayerTypes, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import { putRopeScaling, readRopeScaling } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { llamaNames } from './llama-names.ts';

/** Llama, and Mistral, which is a Llama with windowed attention. Only here do the rows of queries and keys change places. */
export const llama: GgufArchitecture = {
  name: 'llama',
  modelTypes: ['llama', 'mistral'],
  tiedByDefault: false,
  tensors: {
    ...llamaNames,
    ropeModules: new Map([
      ['self_attn.q_proj', 'num_attention_heads'],
      ['self_attn.k_proj', 'num_key_value_heads'],
    ]),
  },

  async readConfig(contents) {
    const { fields, tensors } = contents;
    refuseWhatIsNotSaid(fields, ['attention.sliding_window']);
    const decoder = decoderConfig(contents);
    const window = readWindow(fields);
    return {
      architectures: [window ? 'MistralForCausalLM' : 'LlamaForCausalLM'],
      model_type: window ? 'mistral' : 'llama',
      ...decoder,
      hidden_act: 'silu',
      rope_scaling: await readRopeScaling(contents, decoder),
      attention_bias: tensors.has('blk.0.attn_q.bias'),
      mlp_bias: tensors.has('blk.0.ffn_up.bias'),
      ...(window && { sliding_window: window }),
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseWhatHasNoKey(config);
    refuseOtherLayerTypes(config);
    config.refuseUnless('partial_rotary_factor', [1]);
    // Readers give a window to a Mistral only: Llama's attention has none, whatever its config says.
    if (config.raw('model_type') !== 'mistral') config.refuseUnless('sliding_window', []);
    putDecoder(config, metadata);
    metadata.u32('attention.sliding_window', config.number('sliding_window'));
    putTokenIds(config, metadata);
    return putRopeScaling(config, metadata);
  },
};
