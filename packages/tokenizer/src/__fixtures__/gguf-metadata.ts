interface TokenizerFile {
  added_tokens: { id: number; content: string; special: boolean }[];
  model: { vocab: Record<string, number>; merges: string[][] };
}

/** What a converter to GGUF would write for a byte-level `tokenizer.json`, with three rows of padding. */
export function metadataOf({ model, added_tokens }: TokenizerFile, pre: string): Record<string, unknown> {
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) {
    tokens[id] = piece;
    types[id] = 1;
  }
  for (const { id, content, special } of added_tokens) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  for (let count = 0; count < 3; count++) {
    types.push(5);
    tokens.push(`[PAD${tokens.length}]`);
  }
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': pre,
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': Int32Array.from(types),
    'tokenizer.ggml.merges': model.merges.map((pair) => pair.join(' ')),
  };
}
