import type { ConfigFields } from '../config-fields.ts';
import type { Fp8Quantization } from '../quantization.ts';
import { readBlockSize, staticActivationsWarning } from './fp8-fields.ts';

/**
 * `quant_method: fp8`: with `weight_block_size` as DeepSeek and Qwen publish (one scale for a block of the matrix), without it
 * as AutoFP8 wrote (one for the matrix).
 */
export function readFp8(config: ConfigFields): Fp8Quantization {
  config.word('fmt', 'e4m3', 'float8_e4m3fn');
  const block = readBlockSize(config, 'weight_block_size');
  const scheme = config.word('activation_scheme', 'dynamic', 'static');
  // DeepSeek's note that scales, of activations too, are powers of two; they are stored as what they are.
  config.word('scale_fmt', 'ue8m0', 'float');
  config.ignore('modules_to_not_convert', 'ignored_layers', 'ignore');
  config.finish();
  return { kind: 'fp8', block, warnings: scheme === 'static' ? [staticActivationsWarning] : [] };
}

/** `quant_method: fbgemm_fp8`, as Meta published Llama 3.1 405B: one scale for every row. */
export function readFbgemmFp8(config: ConfigFields): Fp8Quantization {
  // Where activations are cut off when they are rounded to 8 bits, which Hearth does not do.
  config.ignore('activation_scale_ub', 'modules_to_not_convert');
  config.finish();
  return { kind: 'fp8', block: null, warnings: [] };
}
