import { createHash } from 'node:crypto';
import { InvalidModelError } from '@hearth/core';
import type { TokenizerDefinition } from '../tokenizer-definition.ts';
import { byteLetter, bytesOfLetters } from './byte-letters.ts';
import { packBytes } from './byte-table.ts';
import { type CompiledTokenizer, type DecoderTables, type EncoderTables, TokenFlag } from './compiled-tokenizer.ts';
import { bytesOfPiece, fallbackByte } from './piece-bytes.ts';

/**
 * Added tokens are looked for with a tree that has a node for each character. Gemma 3 has the most that are known: 6,415
 * tokens of 76,000 characters in all.
 */
const maxAddedCharacters = 2 ** 21;

/** Lays a tokenizer out in flat tables. The definition is trusted here: its readers have checked every id and piece. */
export function compile(definition: TokenizerDefinition): CompiledTokenizer {
  const addedCharacters = definition.addedTokens.reduce((sum, { content }) => sum + content.length, 0);
  if (addedCharacters > maxAddedCharacters) {
    throw new InvalidModelError(
      `The added tokens of the tokenizer have ${addedCharacters} characters in all, but at most ${maxAddedCharacters} make sense.`,
      { details: { place: 'added_tokens', addedCharacters } },
    );
  }
  const vocabularySize = sizeOf(definition);
  const decoder = compileDecoder(definition, vocabularySize);
  const encoder = compileEncoder(definition);
  const { eosTokenIds } = definition;
  return { vocabularySize, decoder, encoder, eosTokenIds, fingerprint: fingerprintOf(decoder, encoder, eosTokenIds) };
}

function sizeOf({ vocabulary, addedTokens }: TokenizerDefinition): number {
  let largest = 0;
  for (const id of vocabulary.values()) largest = Math.max(largest, id);
  for (const { id } of addedTokens) largest = Math.max(largest, id);
  return largest + 1;
}

function compileDecoder(definition: TokenizerDefinition, vocabularySize: number): DecoderTables {
  const { vocabulary, addedTokens, decoder } = definition;
  const flags = new Uint8Array(vocabularySize);
  const entries = new Array<Uint8Array | undefined>(vocabularySize);
  for (const [piece, id] of vocabulary) {
    flags[id] = TokenFlag.exists;
    entries[id] = bytesOfPiece(piece, false, decoder);
  }
  for (const { content, id, special } of addedTokens) {
    flags[id] = TokenFlag.exists | (special ? TokenFlag.special : 0);
    entries[id] = bytesOfPiece(content, true, decoder);
  }
  return { tokenBytes: packBytes(Array.from(entries)), flags, start: decoder.start };
}

function compileEncoder(definition: TokenizerDefinition): EncoderTables {
  const { vocabulary, preTokenizer, unknownPiece } = definition;
  const byBytes = preTokenizer.at(-1)?.kind === 'bytes';
  return {
    symbols: byBytes ? byteSymbols(vocabulary) : characterSymbols(vocabulary),
    merges: definition.merges,
    fallbackIds: definition.byteFallback ? fallbackIds(vocabulary) : undefined,
    words: definition.ignoreMerges ? wholeWords(vocabulary, byBytes) : undefined,
    unknownId: unknownPiece === undefined ? undefined : vocabulary.get(unknownPiece),
    fuseUnknown: definition.fuseUnknown,
    addedTokens: definition.addedTokens,
    normalizer: definition.normalizer,
    preTokenizer,
    bosTokenId: definition.bosTokenId,
    addBos: definition.addBos,
  };
}

function byteSymbols(vocabulary: ReadonlyMap<string, number>): Int32Array<ArrayBuffer> {
  const pairs: number[] = [];
  for (let byte = 0; byte < 256; byte++) {
    const id = vocabulary.get(byteLetter(byte));
    if (id !== undefined) pairs.push(byte, id);
  }
  return Int32Array.from(pairs);
}

function characterSymbols(vocabulary: ReadonlyMap<string, number>): Int32Array<ArrayBuffer> {
  const pairs: number[] = [];
  for (const [piece, id] of vocabulary) {
    const codePoint = piece.codePointAt(0);
    if (codePoint !== undefined && piece.length === (codePoint > 0xffff ? 2 : 1)) pairs.push(codePoint, id);
  }
  return Int32Array.from(pairs);
}

function fallbackIds(vocabulary: ReadonlyMap<string, number>): Int32Array<ArrayBuffer> {
  const ids = new Int32Array(256).fill(-1);
  for (const [piece, id] of vocabulary) {
    const byte = fallbackByte(piece);
    if (byte !== undefined) ids[byte] = id;
  }
  return ids;
}

/** Pieces as the text they stand for. Byte pieces that are no whole characters can never be a word and are left out. */
function wholeWords(vocabulary: ReadonlyMap<string, number>, byBytes: boolean): NonNullable<EncoderTables['words']> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const texts: Uint8Array[] = [];
  const ids: number[] = [];
  for (const [piece, id] of vocabulary) {
    const bytes = byBytes ? bytesOfLetters(piece) : encoder.encode(piece);
    if (bytes === undefined) continue;
    try {
      decoder.decode(bytes);
    } catch {
      continue;
    }
    texts.push(bytes);
    ids.push(id);
  }
  return { texts: packBytes(texts), ids: Int32Array.from(ids) };
}

function fingerprintOf(decoder: DecoderTables, encoder: EncoderTables, eosTokenIds: readonly number[]): string {
  const hash = createHash('sha256');
  const addTables = (value: unknown): unknown => {
    if (ArrayBuffer.isView(value)) {
      hash.update(`${value.byteLength}:`).update(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      return null;
    }
    return value;
  };
  // JSON.stringify visits the tables in the order of their names in the code, which is fixed.
  const rest = JSON.stringify({ decoder, encoder, eosTokenIds }, (_, value) => addTables(value));
  return hash.update(rest).digest('hex');
}
