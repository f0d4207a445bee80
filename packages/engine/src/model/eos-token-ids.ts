/**
 * Every token after which a text is over: those of config.json, generation_config.json and the tokenizer together. Files
 * often disagree (a chat model's end of turn is in one of them only), and a token that any of them calls the end is one.
 *
 * @param vocabSize rows of the model; ids past it can never be chosen and are left out
 */
export function eosTokenIds(
  sources: {
    readonly config: readonly number[];
    readonly tokenizer: readonly number[];
    readonly generationConfig: Readonly<Record<string, unknown>> | undefined;
  },
  vocabSize: number,
): ReadonlySet<number> {
  const generation = sources.generationConfig?.eos_token_id;
  const named = [...sources.config, ...(Array.isArray(generation) ? generation : [generation]), ...sources.tokenizer];
  return new Set(named.filter((id): id is number => Number.isInteger(id) && id >= 0 && id < vocabSize));
}
