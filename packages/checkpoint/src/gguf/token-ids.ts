import { UnsupportedError } from '@hearth/core';
import { ConfigFields } from './config-fields.ts';
import { maxDimension } from './decoder-config.ts';
import type { MetadataBuilder } from './metadata-builder.ts';
import type { MetadataFields } from './metadata-fields.ts';

/** `bos_token_id`, `eos_token_id` and `pad_token_id` of config.json; absent where the file does not say. */
export function readTokenIds(fields: MetadataFields): Record<string, unknown> {
  const id = (name: string) => fields.integer(`tokenizer.ggml.${name}_token_id`, 0, maxDimension);
  const ids: Record<string, unknown> = {};
  const bos = id('bos');
  if (bos !== undefined) ids.bos_token_id = bos;
  // End of turn and end of message end a completion like the end of text, so all of them are listed, as in config.json of Llama 3.
  const ends = [...new Set([id('eos'), id('eot'), id('eom')].filter((end) => end !== undefined))];
  if (ends.length > 0) ids.eos_token_id = ends.length === 1 ? ends[0] : ends;
  const pad = id('padding');
  if (pad !== undefined) ids.pad_token_id = pad;
  return ids;
}

/** The reverse. The ids that end a completion are end of text, of turn and of message, in this order. */
export function putTokenIds(config: ConfigFields, metadata: MetadataBuilder): void {
  const eosTokenId = config.raw('eos_token_id');
  const ends = Array.isArray(eosTokenId) ? eosTokenId : [eosTokenId];
  if (ends.length > 3) {
    throw new UnsupportedError(`eos_token_id of the config lists ${ends.length} ids; a GGUF file has room for three.`);
  }
  const [eos, eot, eom] = ends;
  const ids = { bos: config.raw('bos_token_id'), eos, eot, eom, padding: config.raw('pad_token_id') };
  for (const [name, id] of Object.entries(ids)) {
    const field = `${name} token id`;
    const value = new ConfigFields({ [field]: id }).number(field);
    if (value !== undefined) metadata.general(`tokenizer.ggml.${name}_token_id`, { type: 'u32', value });
  }
}
