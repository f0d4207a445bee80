import type { ConfigFields } from '../config-fields.ts';
import type { Int4Quantization } from '../quantization.ts';
import { readGroupSize } from './group-size.ts';

/**
 * AWQ (Lin et al. 2023, "AWQ: Activation-aware Weight Quantization") as AutoAWQ writes it for its GEMM kernel. The others of its
 * layouts hold the words in another order.
 */
export function readAwq(config: ConfigFields): Int4Quantization {
  config.expectNumber('bits', 4);
  const groupSize = readGroupSize(config);
  config.word('version', 'gemm');
  config.word('backend', 'autoawq');
  for (const key of ['format', 'checkpoint_format']) config.word(key, 'gemm');
  config.word('method', 'awq');
  config.word('pack_dtype', 'int32');
  if (config.flag('desc_act', false)) config.refuse('desc_act', 'false');
  if (!config.flag('zero_point', true)) config.refuse('zero_point', 'true');
  config.ignore('modules_to_not_convert', 'do_fuse', 'fuse_max_seq_len', 'modules_to_fuse', 'exllama_config');
  config.ignore('sym', 'lm_head', 'meta');
  config.finish();
  return {
    kind: 'int4',
    groupSize,
    isActOrder: false,
    packing: {
      name: 'awq',
      neighbours: 'rows',
      nibbleOrder: [0, 2, 4, 6, 1, 3, 5, 7],
      zeroOffset: 0,
      isSymmetric: false,
    },
  };
}
