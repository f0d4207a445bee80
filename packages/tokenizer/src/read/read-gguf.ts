import { UnsupportedError } from '@hearth/core';
import type { AddedToken, TokenizerDefinition } from '../tokenizer-definition.ts';
import type { DecoderPlan } from './decoder-plan.ts';
import { type BytePairPipeline, pipelineOf } from './gguf-pre-tokenizers.ts';
import { MergeList } from './merge-list.ts';
import { invalid, maxVocabularySize, readBoolean, readString, readTokenId, show } from './read-value.ts';
import { deriveMerges, type ScoredPiece } from './spm-merges.ts';

/** Values of `tokenizer.ggml.token_type`. */
const TokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** Keys of ids that end a turn or a text. Chat models often have a second one that `eos_token_id` does not name. */
const endKeys = ['tokenizer.ggml.eos_token_id', 'tokenizer.ggml.eot_token_id', 'tokenizer.ggml.eom_token_id'];
/** The same as text: files made before those keys existed mark these as control tokens only. */
const endContents = new Set([
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<end_of_turn>',
  '<|end|>',
  '<|endoftext|>',
  '<|end_of_text|>',
]);

/**
 * Rebuilds a tokenizer from the `tokenizer.ggml.*` keys of a GGUF file: byte-level BPE (`gpt2`) with the table of
 * `tokenizer.ggml.pre`, or SentencePiece BPE (`llama`) with merges derived from the scores.
 */
export function readGguf(metadata: ReadonlyMap<string, unknown>): TokenizerDefinition {
  const model = readString(metadata.get('tokenizer.ggml.model'), 'tokenizer.ggml.model');
  if (model !== 'gpt2' && model !== 'llama') {
    throw new UnsupportedError(
      `The GGUF key tokenizer.ggml.model is ${show(model)}, but Hearth knows "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE).`,
      { details: { place: 'tokenizer.ggml.model', model } },
    );
  }
  const tokens = readTokens(metadata.get('tokenizer.ggml.tokens'));
  const types = readNumbers(metadata.get('tokenizer.ggml.token_type'), 'tokenizer.ggml.token_type', tokens.length);
  const definition =
    model === 'gpt2' ? readBytePair(metadata, tokens, types) : readSentencePiece(metadata, tokens, types);
  return { ...definition, ...readRoles(metadata, tokens, types, definition.addBos) };
}

function readBytePair(
  metadata: ReadonlyMap<string, unknown>,
  tokens: readonly string[],
  types: readonly number[],
): TokenizerDefinition {
  const pipeline: BytePairPipeline = pipelineOf(
    readString(metadata.get('tokenizer.ggml.pre') ?? 'default', 'tokenizer.ggml.pre'),
  );
  const addedTokens = readAddedTokens(tokens, types);
  const vocabulary = idsByPiece(tokens);
  return {
    vocabulary,
    merges: readMerges(metadata.get('tokenizer.ggml.merges'), vocabulary),
    unknownPiece: undefined,
    fuseUnknown: false,
    byteFallback: false,
    ignoreMerges: pipeline.ignoreMerges,
    addedTokens,
    normalizer: pipeline.normalizer,
    preTokenizer: [...pipeline.preTokenizer, { kind: 'bytes' }],
    decoder: {
      alphabet: 'byte-letters',
      replacements: [],
      byteFallback: false,
      separator: '',
      start: { kind: 'keep' },
    },
    bosTokenId: undefined,
    eosTokenIds: [],
    addBos: pipeline.addBos,
  };
}

function readSentencePiece(
  metadata: ReadonlyMap<string, unknown>,
  tokens: readonly string[],
  types: readonly number[],
): TokenizerDefinition {
  const scores = readNumbers(metadata.get('tokenizer.ggml.scores'), 'tokenizer.ggml.scores', tokens.length);
  const addSpace = readFlag(metadata, 'tokenizer.ggml.add_space_prefix', true);
  const pieces = new Map<string, ScoredPiece>();
  tokens.forEach((piece, id) => {
    if (types[id] === TokenType.normal) pieces.set(piece, { id, score: scores[id] as number });
  });
  const unknownId = types.indexOf(TokenType.unknown);
  const decoder: DecoderPlan = {
    alphabet: 'text',
    replacements: [{ from: '▁', to: ' ' }],
    byteFallback: true,
    separator: '',
    start: addSpace ? { kind: 'strip-blanks', count: 1 } : { kind: 'keep' },
  };
  return {
    vocabulary: idsByPiece(tokens),
    merges: deriveMerges(pieces),
    unknownPiece: unknownId < 0 ? undefined : tokens[unknownId],
    fuseUnknown: true,
    byteFallback: true,
    ignoreMerges: false,
    addedTokens: readAddedTokens(tokens, types),
    // The blank comes before each stretch of text, also after a special token.
    normalizer: [
      ...(addSpace ? [{ kind: 'prepend', text: '▁' } as const] : []),
      { kind: 'replace', pattern: { kind: 'literal', text: ' ' }, content: '▁' },
    ],
    preTokenizer: [],
    decoder,
    bosTokenId: undefined,
    eosTokenIds: [],
    addBos: true,
  };
}

function readTokens(value: unknown): string[] {
  if (!Array.isArray(value)) throw invalid('tokenizer.ggml.tokens', 'a list of strings', value);
  if (value.length === 0 || value.length > maxVocabularySize) {
    throw invalid('tokenizer.ggml.tokens', `a list of 1 to ${maxVocabularySize} strings`, `${value.length} entries`);
  }
  return value.map((item, index) => readString(item, `tokenizer.ggml.tokens[${index}]`));
}

/** Some files fill the rows of padding with one piece over and over; the first row counts. */
function idsByPiece(tokens: readonly string[]): Map<string, number> {
  const vocabulary = new Map<string, number>();
  tokens.forEach((piece, id) => {
    if (!vocabulary.has(piece)) vocabulary.set(piece, id);
  });
  return vocabulary;
}

function readNumbers(value: unknown, place: string, count: number): number[] {
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

function readMerges(value: unknown, vocabulary: ReadonlyMap<string, number>): Int32Array<ArrayBuffer> {
  if (!Array.isArray(value)) throw invalid('tokenizer.ggml.merges', 'a list of strings', value);
  const merges = new MergeList(vocabulary, value.length, 'tokenizer.ggml.tokens');
  value.forEach((item, index) => {
    const place = () => `tokenizer.ggml.merges[${index}]`;
    // Byte-level letters hold no blank, so the first one is between the parts.
    const blank = typeof item === 'string' ? item.indexOf(' ') : -1;
    if (blank < 0) throw invalid(place(), 'two parts with a blank between them', item);
    merges.add(item.slice(0, blank), item.slice(blank + 1), place);
  });
  return merges.ids;
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

function readRoles(
  metadata: ReadonlyMap<string, unknown>,
  tokens: readonly string[],
  types: readonly number[],
  addBosByDefault: boolean,
): Pick<TokenizerDefinition, 'bosTokenId' | 'eosTokenIds' | 'addBos'> {
  const readId = (key: string): number | undefined => {
    const value = metadata.get(key);
    if (value === undefined) return undefined;
    const id = readTokenId(value, key);
    if (id >= tokens.length) throw invalid(key, `the id of one of the ${tokens.length} tokens`, value);
    return id;
  };
  const bosTokenId = readId('tokenizer.ggml.bos_token_id');
  const eosTokenIds = new Set(endKeys.flatMap((key) => readId(key) ?? []));
  tokens.forEach((content, id) => {
    if (types[id] === TokenType.control && endContents.has(content)) eosTokenIds.add(id);
  });
  return {
    bosTokenId,
    eosTokenIds: [...eosTokenIds],
    addBos: bosTokenId !== undefined && readFlag(metadata, 'tokenizer.ggml.add_bos_token', addBosByDefault),
  };
}

function readFlag(metadata: ReadonlyMap<string, unknown>, key: string, byDefault: boolean): boolean {
  return readBoolean(metadata.get(key), key, byDefault);
}
