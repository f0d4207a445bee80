import type { DecoderPlan } from './read/decoder-plan.ts';
import type { NormalizerStep } from './read/normalizer-steps.ts';
import type { PreTokenizerStep } from './read/pre-tokenizer-steps.ts';

/**
 * Everything a tokenizer is, in our own words and checked: what both `tokenizer.json` and GGUF metadata are read into.
 * Words of the file format (snake_case) end here.
 */
export interface TokenizerDefinition {
  /** Pieces of the model's own vocabulary, as the file spells them (byte-level letters, `▁`), and their ids. */
  vocabulary: ReadonlyMap<string, number>;
  /** Triples (left id, right id, merged id) in order of priority. */
  merges: Int32Array<ArrayBuffer>;
  /** Piece that stands for characters the vocabulary lacks; without one such characters are dropped. */
  unknownPiece: string | undefined;
  /** Neighbouring unknown characters of a word become one unknown piece. */
  fuseUnknown: boolean;
  /** Unknown characters become their UTF-8 bytes, `<0x00>` to `<0xFF>`, if the vocabulary has them all. */
  byteFallback: boolean;
  /** A word that is in the vocabulary as a whole is taken as it is, without merging. */
  ignoreMerges: boolean;
  addedTokens: readonly AddedToken[];
  normalizer: readonly NormalizerStep[];
  preTokenizer: readonly PreTokenizerStep[];
  decoder: DecoderPlan;
  bosTokenId: number | undefined;
  eosTokenIds: readonly number[];
  /** Whether the model was trained with the BOS token before every text. */
  addBos: boolean;
}

/** A token that is looked for in the text before anything is split. */
export interface AddedToken {
  id: number;
  content: string;
  /** Special tokens control the model. They are not looked for in plain text. */
  special: boolean;
  /** Swallows white space on its left. */
  lstrip: boolean;
  /** Swallows white space on its right. */
  rstrip: boolean;
  /** Only matches between characters that are no letters, digits, marks or connectors. */
  singleWord: boolean;
  /** Looked for in the normalized text, and normalized itself for that. */
  normalized: boolean;
  /** How it stands in the normalized text, if that is not what the normalizer makes of `content`. */
  spelling?: string | undefined;
}
