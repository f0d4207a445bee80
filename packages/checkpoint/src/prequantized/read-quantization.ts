import { UnsupportedError } from '@hearth/core';
import { ConfigFields } from './config-fields.ts';
import { readAwq } from './methods/awq.ts';
import { readCompressedTensors } from './methods/compressed-tensors.ts';
import { readFbgemmFp8, readFp8 } from './methods/fp8.ts';
import { readGptq } from './methods/gptq.ts';
import type { Quantization } from './quantization.ts';

const methods = new Map<string, (config: ConfigFields) => Quantization>([
  ['gptq', readGptq],
  ['awq', readAwq],
  ['fp8', readFp8],
  ['fbgemm_fp8', readFbgemmFp8],
  ['compressed-tensors', readCompressedTensors],
]);

const supported = 'gptq and awq of 4 bits, and fp8, fbgemm_fp8 and compressed-tensors of float8 e4m3';

/**
 * Reads `quantization_config` of a config.json; null when it has none.
 *
 * @param path of the file, for messages
 * @throws UnsupportedError that names the method, or the key of it, what is there and what is supported
 * @throws InvalidModelError when it is no object
 */
export function readQuantization(config: Readonly<Record<string, unknown>>, path: string): Quantization | null {
  const found = config.quantization_config;
  if (found === undefined || found === null) return null;
  const where = `${path}: quantization_config`;
  const fields = new ConfigFields(found, where);
  const method = fields.value('quant_method');
  const read = typeof method === 'string' ? methods.get(method.toLowerCase()) : undefined;
  if (read) return read(fields);
  const hint = method === undefined ? ` Its keys are ${fields.keys.slice(0, 8).join(', ').slice(0, 200)}.` : '';
  const shown = method === undefined ? 'missing' : JSON.stringify(method).slice(0, 80);
  throw new UnsupportedError(`${where}.quant_method is ${shown}; supported are: ${supported}.${hint}`, {
    details: { path, method },
  });
}
