import { InvalidModelError } from '@hearth/core';

/**
 * Every token after which a text is over: those of config.json, generation_config.json and the tokenizer together. Files
 * often disagree (a chat model's end of turn is in one of them only), and a token that any of them calls the end is one.
 *
 * @param vocabSize rows of the model; ids past it can never be chosen and are left out
 * @throws InvalidModelError for an `eos_token_id` of generation_config.json that is neither an id nor a list of ids
 */
export function eosTokenIds(
  sources: {
    readonly config: readonly number[];
    readonly tokenizer: readonly number[];
    readonly generationConfig: Readonly<Record<string, unknown>> | undefined;
  },
  vocabSize: number,
): ReadonlySet<number> {
  const named = [...sources.config, ...generationEnds(sources.generationConfig), ...sources.tokenizer];
  return new Set(named.filter((id) => id < vocabSize));
}

/** `eos_token_id` of generation_config.json: absent, null, an id or a list of ids. */
function generationEnds(config: Readonly<Record<string, unknown>> | undefined): number[] {
  const value = config?.eos_token_id ?? [];
  const ids: unknown[] = Array.isArray(value) ? value : [value];
  if (!ids.every((id) => Number.isInteger(id) && (id as number) >= 0)) {
    throw new InvalidModelError(
      `eos_token_id in generation_config.json must be a token id or a list of token ids, got ${String(JSON.stringify(value)).slice(0, 60)}.`,
      { details: { key: 'eos_token_id', value } },
    );
  }
  return ids as number[];
}
