import type { GgufArchitecture } from '../architecture.ts';
import type { ConfigFields } from '../config-fields.ts';
import { decoderConfig, readWindow, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putDecoder, refuseOtherLayerTypes, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import type { MetadataFields } from '../metadata-fields.ts';
import { putRopeScaling, readRopeScaling } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { llamaNames } from './llama-names.ts';

/** Qwen2 and 2.5: a Llama with biases on queries, keys and values. */
export const qwen2: GgufArchitecture = {
  name: 'qwen2',
  modelTypes: ['qwen2'],
  tiedByDefault: false,
  tensors: llamaNames,

  async readConfig(contents) {
    refuseWhatIsNotSaid(contents.fields, ['attention.sliding_window']);
    const decoder = decoderConfig(contents);
    refuseSlidingWindow(contents.fields, decoder.max_position_embeddings);
    return {
      architectures: ['Qwen2ForCausalLM'],
      model_type: 'qwen2',
      ...decoder,
      hidden_act: 'silu',
      rope_scaling: await readRopeScaling(contents, decoder),
      use_sliding_window: false,
      ...readTokenIds(contents.fields),
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

/** Which layers of a Qwen would slide is not said in GGUF. A window that is no shorter than the context changes nothing. */
export function refuseSlidingWindow(fields: MetadataFields, contextLength: number): void {
  const window = readWindow(fields);
  if (window !== null && window < contextLength) {
    fields.unsupported(fields.key('attention.sliding_window'), `is ${window}; which layers it applies to is not known`);
  }
}

/** `sliding_window` alone does nothing: Qwen's configs switch it on with another field. */
export function refuseWindowOfQwen(config: ConfigFields): void {
  config.refuseUnless('use_sliding_window', [false]);
  refuseOtherLayerTypes(config);
}
