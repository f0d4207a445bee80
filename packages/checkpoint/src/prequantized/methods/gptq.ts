import type { ConfigFields } from '../config-fields.ts';
import type { Int4Quantization } from '../quantization.ts';
import { readGroupSize } from './group-size.ts';

/**
 * GPTQ (Frantar et al. 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers") as AutoGPTQ
 * and GPTQModel write it.
 */
export function readGptq(config: ConfigFields): Int4Quantization {
  config.expectNumber('bits', 4);
  const groupSize = readGroupSize(config);
  const isActOrder = config.flag('desc_act', false);
  const isSymmetric = config.flag('sym', true);
  const format = config.word('checkpoint_format', 'gptq', 'gptq_v2');
  if (config.word('format', format, 'gptq', 'gptq_v2') !== format)
    config.refuse('format', `${format}, like checkpoint_format`);
  config.word('method', 'gptq');
  config.word('pack_dtype', 'int32');
  if (config.flag('is_marlin_format', false)) config.refuse('is_marlin_format', 'false');
  const overrides = config.value('dynamic');
  if (overrides !== undefined && JSON.stringify(overrides) !== '{}') {
    config.refuse('dynamic', 'null, which is the same form for every module');
  }
  config.ignore(
    ...['lm_head', 'modules_in_block_to_quantize', 'block_name_to_quantize', 'module_name_preceding_first_block'],
    ...['damp_percent', 'damp_auto_increment', 'static_groups', 'true_sequential', 'mse', 'act_group_aware'],
    ...['dataset', 'tokenizer', 'batch_size', 'pad_token_id', 'model_seqlen', 'cache_block_outputs'],
    ...['model_name_or_path', 'model_file_base_name', 'quantizer', 'meta'],
    ...['backend', 'use_cuda_fp16', 'use_exllama', 'disable_exllama', 'exllama_config', 'max_input_length'],
  );
  config.finish();
  return {
    kind: 'int4',
    groupSize,
    isActOrder,
    packing: {
      name: 'gptq',
      neighbours: 'columns',
      nibbleOrder: [0, 1, 2, 3, 4, 5, 6, 7],
      zeroOffset: format === 'gptq' ? 1 : 0,
      isSymmetric,
    },
  };
}
