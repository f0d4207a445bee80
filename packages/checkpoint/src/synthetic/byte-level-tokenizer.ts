import type { GgufMetadataToWrite } from '../gguf/metadata-encoder.ts';

/** Merges, in order of rank, so that some words are shorter than their bytes. `Ġ` is the blank of byte-level BPE. */
const merges: readonly (readonly [string, string])[] = [
  ['Ġ', 't'],
  ['h', 'e'],
  ['Ġt', 'he'],
  ['i', 'n'],
  ['e', 'r'],
];
const specialTokens = ['<|bos|>', '<|eos|>', '<|im_start|>', '<|im_end|>', '<|pad|>'] as const;

const firstSpecialId = 256 + merges.length;
export const syntheticTokenIds = {
  bos: firstSpecialId,
  eos: firstSpecialId + 1,
  imStart: firstSpecialId + 2,
  imEnd: firstSpecialId + 3,
  pad: firstSpecialId + 4,
} as const;

/** Tokens of the synthetic tokenizer; ids above have no text. */
export const syntheticVocabSize = firstSpecialId + specialTokens.length;

const chatTemplate =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}" +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

/** Numbers of GGUF's `tokenizer.ggml.token_type`. */
const tokenTypes = { normal: 1, control: 3, unused: 5 } as const;

/** The printable character that byte-level BPE (GPT-2) writes for each byte: itself where it is printable, else one from U+0100 on. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

/** Bytes, then merges: the tokens that text is made of. */
function textTokens(): string[] {
  return [...byteCharacters(), ...merges.map(([left, right]) => left + right)];
}

/** The tokenizer as GGUF metadata. Ids from `syntheticVocabSize` up to `vocabSize` become unused tokens. */
export function syntheticTokenizerMetadata(vocabSize: number): GgufMetadataToWrite {
  const tokens: string[] = [...textTokens(), ...specialTokens];
  const types = tokens.map((_, id) => (id < firstSpecialId ? tokenTypes.normal : tokenTypes.control)) as number[];
  for (let id = tokens.length; id < vocabSize; id++) {
    tokens.push(`[unused${id}]`);
    types.push(tokenTypes.unused);
  }
  const id = (value: number) => ({ type: 'u32', value }) as const;
  return new Map<string, GgufMetadataToWrite extends ReadonlyMap<string, infer Value> ? Value : never>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', 'gpt-2'],
    ['tokenizer.ggml.tokens', { type: 'array<string>', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'array<i32>', value: Int32Array.from(types) }],
    ['tokenizer.ggml.merges', { type: 'array<string>', value: merges.map((pair) => pair.join(' ')) }],
    ['tokenizer.ggml.bos_token_id', id(syntheticTokenIds.bos)],
    ['tokenizer.ggml.eos_token_id', id(syntheticTokenIds.eos)],
    ['tokenizer.ggml.padding_token_id', id(syntheticTokenIds.pad)],
    ['tokenizer.ggml.add_bos_token', false],
    ['tokenizer.chat_template', chatTemplate],
  ]);
}

/** The same tokenizer as tokenizer.json. */
export function syntheticTokenizerJson(): string {
  const added = specialTokens.map((content, i) => ({
    id: firstSpecialId + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  return JSON.stringify({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(textTokens().map((token, tokenId) => [token, tokenId])),
      merges: merges.map((pair) => pair.join(' ')),
    },
  });
}

export const syntheticTokenizerConfig = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  bos_token: '<|bos|>',
  eos_token: '<|eos|>',
  pad_token: '<|pad|>',
  add_bos_token: false,
  clean_up_tokenization_spaces: false,
  chat_template: chatTemplate,
} as const;
