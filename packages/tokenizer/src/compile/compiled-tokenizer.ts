import type { StartRule } from '../read/decoder-plan.ts';
import type { NormalizerStep } from '../read/normalizer-steps.ts';
import type { PreTokenizerStep } from '../read/pre-tokenizer-steps.ts';
import type { AddedToken } from '../tokenizer-definition.ts';

/** Strings or byte strings in one buffer: entry i is `bytes[offsets[i] .. offsets[i + 1]]`. */
export interface ByteTable {
  bytes: Uint8Array<ArrayBuffer>;
  /** One more entry than the table has. */
  offsets: Uint32Array<ArrayBuffer>;
}

/** Bits of `DecoderTables.flags`. */
export const TokenFlag = { exists: 1, special: 2 } as const;

/** What the main thread needs to turn ids into text. All tables are indexed by token id. */
export interface DecoderTables {
  /** Bytes of text that each id adds; ids without a token add none. */
  tokenBytes: ByteTable;
  flags: Uint8Array<ArrayBuffer>;
  start: StartRule;
}

/** What the worker needs to turn text into ids. Sent again to each replacement thread. */
export interface EncoderTables {
  /** Pairs (code point, id), or (byte, id) if words are encoded by bytes: the smallest pieces. */
  symbols: Int32Array<ArrayBuffer>;
  /** Triples (left id, right id, merged id) in order of priority. */
  merges: Int32Array<ArrayBuffer>;
  /** Ids of `<0x00>` to `<0xFF>` if unknown characters fall back to bytes; -1 where there is none. */
  fallbackIds: Int32Array<ArrayBuffer> | undefined;
  /** Words that are taken as a whole, and their ids; only for models that ignore merges for them. */
  words: { texts: ByteTable; ids: Int32Array<ArrayBuffer> } | undefined;
  unknownId: number | undefined;
  fuseUnknown: boolean;
  addedTokens: readonly AddedToken[];
  normalizer: readonly NormalizerStep[];
  preTokenizer: readonly PreTokenizerStep[];
  bosTokenId: number | undefined;
  addBos: boolean;
}

/** A tokenizer in the form in which it crosses threads: flat tables, no strings to parse. */
export interface CompiledTokenizer {
  /** One more than the largest id. */
  vocabularySize: number;
  decoder: DecoderTables;
  encoder: EncoderTables;
  eosTokenIds: readonly number[];
  /** SHA-256 of everything above, in hexadecimal digits. */
  fingerprint: string;
}
