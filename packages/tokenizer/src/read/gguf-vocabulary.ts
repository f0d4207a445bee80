import type { AddedToken } from '../tokenizer-definition.ts';
import { invalid, maxVocabularySize, readString } from './read-value.ts';

/** Values of `tokenizer.ggml.token_type`. */
export const TokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** The list of tokens of a GGUF file. All lists are indexed by token id. */
export interface GgufVocabulary {
  tokens: readonly string[];
  types: readonly number[];
  /** Without the rows of padding. Of rows with equal pieces the first counts. */
  ids: ReadonlyMap<string, number>;
  /** Control tokens, which are special, and user-defined ones. */
  addedTokens: readonly AddedToken[];
}

/** Reads `tokenizer.ggml.tokens` and `tokenizer.ggml.token_type`. */
export function readGgufVocabulary(metadata: ReadonlyMap<string, unknown>): GgufVocabulary {
  const tokens = readTokens(metadata.get('tokenizer.ggml.tokens'));
  const types = readNumbers(metadata.get('tokenizer.ggml.token_type'), 'tokenizer.ggml.token_type', tokens.length);
  const ids = new Map<string, number>();
  tokens.forEach((piece, id) => {
    if (!ids.has(piece) && !isPadding(piece, id, types)) ids.set(piece, id);
  });
  return { tokens, types, ids, addedTokens: readAddedTokens(tokens, types) };
}

/** @param count how many there must be: one for each token */
export function readNumbers(value: unknown, place: string, count: number): number[] {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList) throw invalid(place, 'a list of numbers', value);
  const list = Array.from(value as ArrayLike<unknown>);
  if (list.length !== count)
    throw invalid(place, `a list of ${count} numbers, one for each token`, `${list.length} entries`);
  return list.map((item, index) => {
    if (!Number.isFinite(item)) throw invalid(`${place}[${index}]`, 'a number', item);
    return item as number;
  });
}

function readTokens(value: unknown): string[] {
  if (!Array.isArray(value)) throw invalid('tokenizer.ggml.tokens', 'a list of strings', value);
  if (value.length === 0 || value.length > maxVocabularySize) {
    throw invalid('tokenizer.ggml.tokens', `a list of 1 to ${maxVocabularySize} strings`, `${value.length} entries`);
  }
  return value.map((item, index) => readString(item, `tokenizer.ggml.tokens[${index}]`));
}

/** Converters fill the rows of the embedding that have no token with this name. A model that picks one says nothing. */
function isPadding(piece: string, id: number, types: readonly number[]): boolean {
  return types[id] === TokenType.unused && piece === `[PAD${id}]`;
}

function readAddedTokens(tokens: readonly string[], types: readonly number[]): AddedToken[] {
  const added: AddedToken[] = [];
  tokens.forEach((content, id) => {
    const special = types[id] === TokenType.control || types[id] === TokenType.unknown;
    if ((!special && types[id] !== TokenType.userDefined) || content === '') return;
    added.push({ id, content, special, lstrip: false, rstrip: false, singleWord: false, normalized: false });
  });
  return added;
}
