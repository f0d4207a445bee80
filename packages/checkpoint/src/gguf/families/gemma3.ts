import type { GgufArchitecture } from '../architecture.ts';
import { decoderConfig, positiveOrNone, readWindow, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putDecoder, refuseOtherLayerTypes } from '../decoder-metadata.ts';
import type { MetadataFields } from '../metadata-fields.ts';
import { putLinearScaling, refuseScaling, ropeOf, ropeScalingFromKeys } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { gemmaNames, queryScalar, refuseOtherThanGemma } from './gemma2.ts';
import { headNorms } from './llama-names.ts';

const layersOf27B = 62;

/** One layer in six attends to everything, the others to a window. */
const defaultPattern = 6;

/** Rotary base of the layers with a window, in files that do not say it. */
const defaultLocalBase = 10_000;

/** Gemma 3 (text): layers with a window have a rotary base of their own; linear scaling is for the others. */
export const gemma3: GgufArchitecture = {
  name: 'gemma3',
  modelTypes: ['gemma3_text'],
  tiedByDefault: true,
  tensors: { ...gemmaNames, modules: new Map([...gemmaNames.modules, ...headNorms]) },

  async readConfig(contents) {
    const { fields } = contents;
    refuseWhatIsNotSaid(fields, [
      'attention.sliding_window',
      'attention.sliding_window_pattern',
      'final_logit_softcapping',
    ]);
    const decoder = decoderConfig(contents);
    const windowKey = fields.key('attention.sliding_window');
    return {
      architectures: ['Gemma3ForCausalLM'],
      model_type: 'gemma3_text',
      ...decoder,
      // The default of other families is not Gemma 3's.
      rope_theta: fields.requiredPositive(fields.key('rope.freq_base')),
      rope_local_base_freq: fields.positive(fields.key('rope.freq_base_swa')) ?? defaultLocalBase,
      rope_scaling: ropeScalingFromKeys(fields, ['linear']),
      hidden_activation: 'gelu_pytorch_tanh',
      attention_bias: false,
      query_pre_attn_scalar: queryScalar(decoder, layersOf27B),
      sliding_window: readWindow(fields) ?? fields.invalid(windowKey, 'is missing'),
      sliding_window_pattern: readPattern(fields, decoder.num_hidden_layers),
      attn_logit_softcapping: null,
      final_logit_softcapping: positiveOrNone(fields, 'final_logit_softcapping', null),
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseOtherThanGemma(config, layersOf27B);
    config.refuseUnless('attn_logit_softcapping', []);
    config.refuseUnless('sliding_window_pattern', [defaultPattern]);
    config.refuseUnless('rope_local_base_freq', [defaultLocalBase]);
    refuseOtherLayerTypes(config, (layer) => (layer + 1) % defaultPattern !== 0);
    const { rope, type } = ropeOf(config);
    putDecoder(config, metadata);
    metadata.f32('rope.freq_base', rope.number('rope_theta') ?? config.requiredNumber('rope_theta'));
    if (type === 'linear') putLinearScaling(rope, metadata);
    else if (type !== 'default') refuseScaling(type);
    metadata.u32('attention.sliding_window', config.requiredNumber('sliding_window'));
    metadata.f32('final_logit_softcapping', config.number('final_logit_softcapping'));
    putTokenIds(config, metadata);
    return [];
  },
};

/** Newer files say which layers have a window, as a period or layer by layer. */
function readPattern(fields: MetadataFields, numLayers: number): number {
  const key = fields.key('attention.sliding_window_pattern');
  const value = fields.raw(key);
  if (value === undefined) return defaultPattern;
  if (!Array.isArray(value)) return fields.integer(key, 1, 1024)!;
  if (value.length !== numLayers) fields.invalid(key, `says it of ${value.length} layers, but there are ${numLayers}`);
  const pattern = value.indexOf(false) + 1 || value.length + 1;
  const isRegular = value.every((isSliding, i) => isSliding === ((i + 1) % pattern !== 0));
  return isRegular
    ? pattern
    : fields.unsupported(key, 'is not every so many layers, which config.json has no word for');
}
