import type { GgufArchitecture } from '../architecture.ts';
import { decoderConfig, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putDecoder, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import { putRopeScaling, readRopeScaling } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { headNorms, llamaNames } from './llama-names.ts';
import { refuseSlidingWindow, refuseWindowOfQwen } from './qwen2.ts';

/** Qwen3: each head's queries and keys are normalized. */
export const qwen3: GgufArchitecture = {
  name: 'qwen3',
  modelTypes: ['qwen3'],
  tiedByDefault: false,
  tensors: { ...llamaNames, modules: new Map([...llamaNames.modules, ...headNorms]) },

  async readConfig(contents) {
    const { fields, tensors } = contents;
    refuseWhatIsNotSaid(fields, ['attention.sliding_window']);
    const decoder = decoderConfig(contents);
    refuseSlidingWindow(fields, decoder.max_position_embeddings);
    return {
      architectures: ['Qwen3ForCausalLM'],
      model_type: 'qwen3',
      ...decoder,
      hidden_act: 'silu',
      rope_scaling: await readRopeScaling(contents, decoder),
      attention_bias: tensors.has('blk.0.attn_q.bias'),
      use_sliding_window: false,
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseWhatHasNoKey(config);
    refuseWindowOfQwen(config);
    putDecoder(config, metadata);
    putTokenIds(config, metadata);
    return putRopeScaling(config, metadata);
  },
};
