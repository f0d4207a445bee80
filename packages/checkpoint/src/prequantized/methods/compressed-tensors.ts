import type { ConfigFields } from '../config-fields.ts';
import type { Fp8Quantization } from '../quantization.ts';
import { readBlockSize, staticActivationsWarning } from './fp8-fields.ts';

const formats = ['float-quantized', 'naive-quantized'] as const;

/** `quant_method: compressed-tensors` (llm-compressor) where its groups hold fp8 weights with a scale per matrix, row or block. */
export function readCompressedTensors(config: ConfigFields): Fp8Quantization {
  config.word('format', ...formats);
  const groups = config.object('config_groups');
  const schemes = groups.keys.map((name) => readGroup(groups.object(name)));
  if (schemes.length === 0) config.refuse('config_groups', 'at least one group');
  const [{ block }] = schemes as [Scheme];
  if (schemes.some((scheme) => scheme.block?.join() !== block?.join())) {
    config.refuse('config_groups', 'groups whose blocks are all of one size');
  }
  if (config.value('kv_cache_scheme') !== undefined) config.refuse('kv_cache_scheme', 'null');
  refuseUnlessEmpty(config, 'sparsity_config');
  refuseUnlessEmpty(config, 'transform_config');
  config.ignore('ignore', 'quantization_status', 'global_compression_ratio', 'version', 'run_compressed');
  config.finish();
  const isStatic = schemes.some((scheme) => scheme.isStatic);
  return { kind: 'fp8', block, warnings: isStatic ? [staticActivationsWarning] : [] };
}

interface Scheme {
  readonly block: readonly [number, number] | null;
  /** Activations have scales in the file. */
  readonly isStatic: boolean;
}

function readGroup(group: ConfigFields): Scheme {
  const weights = group.object('weights');
  requireFloat8(weights);
  if (!weights.flag('symmetric', true)) weights.refuse('symmetric', 'true');
  if (weights.flag('dynamic', false)) weights.refuse('dynamic', 'false');
  const strategy = weights.word('strategy', 'tensor', 'channel', 'block');
  const block = readBlockSize(weights, 'block_structure');
  if ((strategy === 'block') !== (block !== null)) {
    weights.refuse('block_structure', 'a size with the strategy "block", null with others');
  }
  weights.ignore('observer', 'observer_kwargs', 'scale_dtype', 'zp_dtype');
  weights.finish();

  const hasActivations = group.value('input_activations') !== undefined;
  const isStatic = hasActivations && readActivations(group.object('input_activations'));
  if (group.value('output_activations') !== undefined) group.refuse('output_activations', 'null');
  group.word('format', ...formats);
  group.ignore('targets');
  group.finish();
  return { block, isStatic };
}

/** Whether activations are rounded with scales from the file. */
function readActivations(activations: ConfigFields): boolean {
  requireFloat8(activations);
  const isStatic = !activations.flag('dynamic', false);
  activations.ignore('strategy', 'symmetric', 'group_size', 'block_structure', 'observer', 'observer_kwargs');
  activations.ignore('actorder', 'scale_dtype', 'zp_dtype');
  activations.finish();
  return isStatic;
}

function requireFloat8(numbers: ConfigFields): void {
  numbers.expectNumber('num_bits', 8);
  numbers.word('type', 'float');
}

function refuseUnlessEmpty(config: ConfigFields, key: string): void {
  const value = config.value(key);
  const isEmpty = value === undefined || JSON.stringify(value) === '{}';
  if (!isEmpty && (value as { format?: unknown }).format !== 'dense') config.refuse(key, 'null');
}
