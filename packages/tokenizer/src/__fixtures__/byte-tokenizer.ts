import { byteLetter } from '../compile/byte-letters.ts';

const merges: [string, string][] = [
  ['Ġ', 't'],
  ['h', 'e'],
  ['Ġt', 'he'],
  ['a', 'a'],
  ['aa', 'aa'],
];
const pieces = [...Array.from({ length: 256 }, (_, byte) => byteLetter(byte)), ...merges.map((pair) => pair.join(''))];
const controls = ['<|bos|>', '<|eos|>', '<|im_start|>', '<|im_end|>', '<|pad|>'];

/** Rows of the embedding table that go with this tokenizer: rows 266 to 287 are padding and have no token. */
export const numRows = 288;

/**
 * A tokenizer whose first 256 ids are the bytes themselves, with five merges and five control tokens (261 to 265): ids can
 * be read off the text. As the parsed content of a `tokenizer.json`.
 */
export function byteTokenizerJson() {
  return {
    version: '1.0',
    added_tokens: controls.map((content, index) => ({
      id: pieces.length + index,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null as unknown,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true } as unknown,
    post_processor: null as unknown,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true } as unknown,
    model: {
      type: 'BPE' as string | undefined,
      unk_token: null as unknown,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])) as Record<string, unknown>,
      merges: structuredClone(merges) as unknown[],
    } as Record<string, unknown> & { vocab: Record<string, unknown>; merges: unknown[] },
  };
}

/** The `tokenizer_config.json` beside it. */
export function byteTokenizerConfig(addBos: boolean) {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: '<|bos|>',
    eos_token: '<|eos|>',
    pad_token: '<|pad|>',
    add_bos_token: addBos,
  };
}

/** The same tokenizer as the metadata of a GGUF file. */
export function byteTokenizerMetadata(addBos: boolean): Record<string, unknown> {
  const tokens = [...pieces, ...controls];
  return {
    'general.architecture': 'llama',
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': tokens.map((_, id) => (id < 261 ? 1 : 3)),
    'tokenizer.ggml.merges': merges.map((pair) => pair.join(' ')),
    'tokenizer.ggml.bos_token_id': 261,
    'tokenizer.ggml.eos_token_id': 262,
    'tokenizer.ggml.add_bos_token': addBos,
  };
}
