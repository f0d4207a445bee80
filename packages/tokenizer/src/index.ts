export type { DecodeOptions, Detokenizer } from './decode/detokenizer.ts';
export type { AddBos, Segment } from './encode/encoder.ts';
export { type LoadTokenizerOptions, loadTokenizer } from './load-tokenizer.ts';
export { type EncodeOptions, type EncodeSegmentsOptions, type SpecialToken, Tokenizer } from './tokenizer.ts';
export type { JsonFile, TokenizerLimits, TokenizerSource } from './tokenizer-source.ts';
export {
  type GgufTokenizerEntries,
  type GgufTokenizerOptions,
  type GgufTokenizerValue,
  ggufTokenizer,
} from './write/gguf-tokenizer.ts';
