import type { GgufArchitecture } from '../architecture.ts';
import { decoderConfig, maxDimension, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putDecoder, refuseWhatHasNoKey } from '../decoder-metadata.ts';
import { putRopeScaling, readRopeScaling } from '../rope-scaling.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';
import { headNorms, llamaNames } from './llama-names.ts';
import { refuseSlidingWindow, refuseWindowOfQwen } from './qwen2.ts';

/** Largest released: 512. */
const maxExperts = 4096;

/** `expert_gating_func` of a softmax. */
const softmax = 1;

/** Qwen3 with a mixture of experts in every layer; the weights of the chosen ones are normalized to sum up to 1. */
export const qwen3moe: GgufArchitecture = {
  name: 'qwen3moe',
  modelTypes: ['qwen3_moe'],
  tiedByDefault: false,
  tensors: {
    ...llamaNames,
    modules: new Map([...llamaNames.modules, ...headNorms, ['ffn_gate_inp', 'mlp.gate']]),
    expertModules: new Map([
      ['ffn_gate_exps', 'gate_proj'],
      ['ffn_up_exps', 'up_proj'],
      ['ffn_down_exps', 'down_proj'],
    ]),
  },

  async readConfig(contents) {
    const { fields, tensors } = contents;
    refuseWhatIsNotSaid(fields, ['expert_count', 'attention.sliding_window']);
    for (const [name, neutral] of [
      ['expert_gating_func', [softmax]],
      ['expert_weights_norm', [true]],
      ['expert_weights_scale', [0, 1]],
    ] as const) {
      const value = fields.raw(fields.key(name));
      if (value !== undefined && !(neutral as readonly unknown[]).includes(value)) {
        fields.unsupported(fields.key(name), `is ${String(value).slice(0, 60)}; it must be ${neutral.join(' or ')}`);
      }
    }
    const decoder = decoderConfig(contents);
    refuseSlidingWindow(fields, decoder.max_position_embeddings);
    const numExperts = fields.requiredInteger(fields.key('expert_count'), 1, maxExperts);
    return {
      architectures: ['Qwen3MoeForCausalLM'],
      model_type: 'qwen3_moe',
      ...decoder,
      hidden_act: 'silu',
      rope_scaling: await readRopeScaling(contents, decoder),
      attention_bias: tensors.has('blk.0.attn_q.bias'),
      use_sliding_window: false,
      num_experts: numExperts,
      num_experts_per_tok: fields.requiredInteger(fields.key('expert_used_count'), 1, numExperts),
      moe_intermediate_size: fields.requiredInteger(fields.key('expert_feed_forward_length'), 1, maxDimension),
      norm_topk_prob: true,
      decoder_sparse_step: 1,
      mlp_only_layers: [],
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    refuseWhatHasNoKey(config);
    refuseWindowOfQwen(config);
    // Absent means false, which readers of the architecture do not know.
    if (config.raw('norm_topk_prob') !== true) config.unsupported('norm_topk_prob', 'must be true');
    config.refuseUnless('decoder_sparse_step', [1]);
    if ((config.list('mlp_only_layers') ?? []).length > 0) config.unsupported('mlp_only_layers', 'is not empty');
    putDecoder(config, metadata);
    metadata.u32('expert_count', config.requiredNumber('num_experts'));
    metadata.u32('expert_used_count', config.requiredNumber('num_experts_per_tok'));
    metadata.u32('expert_feed_forward_length', config.requiredNumber('moe_intermediate_size'));
    putTokenIds(config, metadata);
    return putRopeScaling(config, metadata);
  },
};
