import { isDeepStrictEqual } from 'node:util';
import { UnsupportedError } from '@hearth/core';
import { pipelineNames, pipelineOf } from '../read/gguf-pre-tokenizers.ts';
import { TokenType } from '../read/gguf-vocabulary.ts';
import { parseJson } from '../read/parse-json.ts';
import type { PreTokenizerStep } from '../read/pre-tokenizer-steps.ts';
import { readGguf } from '../read/read-gguf.ts';
import { readTokenizerJson } from '../read/read-tokenizer-json.ts';
import type { TokenizerDefinition } from '../tokenizer-definition.ts';
import type { TokenizerSource } from '../tokenizer-source.ts';

/** Metadata of a GGUF file: strings and booleans, or values with the type that they are stored as. */
export type GgufTokenizerEntries = Map<string, GgufTokenizerValue>;

export type GgufTokenizerValue =
  | string
  | boolean
  | { readonly type: 'u32'; readonly value: number }
  | { readonly type: 'array<string>'; readonly value: readonly string[] }
  | { readonly type: 'array<i32>'; readonly value: Int32Array }
  | { readonly type: 'array<f32>'; readonly value: Float32Array };

export interface GgufTokenizerOptions {
  /** Rows of the embedding table: the list of tokens is filled up to it. */
  readonly vocabSize: number;
}

/**
 * A tokenizer.json as the `tokenizer.ggml.*` keys of a GGUF file. What was written is read back and compared, so a file never
 * has a tokenizer that splits text otherwise. Which white space added tokens swallow has no place in GGUF and gets lost.
 *
 * Works on the calling thread: a second for the largest vocabularies.
 *
 * @throws UnsupportedError for a tokenizer that GGUF has no name for, or with more tokens than the table has rows
 */
export function ggufTokenizer(
  source: Extract<TokenizerSource, { kind: 'tokenizer-json' }>,
  options: GgufTokenizerOptions,
): GgufTokenizerEntries {
  const { json, config, eosTokenIds = [] } = source;
  const isFile = typeof config === 'string' || config instanceof Uint8Array;
  const definition = readTokenizerJson(
    parseJson(json, 'tokenizer.json'),
    isFile ? parseJson(config, 'tokenizer_config.json') : config,
  );
  const isByteLevel = definition.preTokenizer.at(-1)?.kind === 'bytes';
  const common = { ...vocabularyEntries(definition, options), ...roleEntries(definition, eosTokenIds) };
  for (const candidate of isByteLevel
    ? byteLevelCandidates(definition)
    : [sentencePieceCandidate(definition, options.vocabSize)]) {
    const entries: GgufTokenizerEntries = new Map(Object.entries({ ...common, ...candidate }));
    if (readsBack(entries, definition)) return entries;
  }
  throw new UnsupportedError(
    isByteLevel
      ? `This tokenizer splits or normalizes text in a way that has no name in GGUF; there are ${pipelineNames.join(', ')}.`
      : 'This tokenizer is no SentencePiece model as GGUF knows it: its merges do not follow from one score for each token, or blanks are treated otherwise.',
    { details: { place: 'tokenizer.json' } },
  );
}

type Entries = Record<string, GgufTokenizerValue>;

function vocabularyEntries(definition: TokenizerDefinition, { vocabSize }: GgufTokenizerOptions): Entries {
  const { vocabulary, addedTokens, unknownPiece, byteFallback } = definition;
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [piece, id] of vocabulary) {
    tokens[id] = piece;
    types[id] = byteFallback && /^<0x[0-9A-F]{2}>$/.test(piece) ? TokenType.byte : TokenType.normal;
  }
  for (const { id, content, special } of addedTokens) {
    tokens[id] = content;
    types[id] = special ? TokenType.control : TokenType.userDefined;
  }
  if (unknownPiece !== undefined) types[vocabulary.get(unknownPiece)!] = TokenType.unknown;
  if (tokens.length > vocabSize) {
    throw new UnsupportedError(
      `The tokenizer has ids up to ${tokens.length - 1}, but the embedding table has ${vocabSize} rows.`,
      { details: { place: 'tokenizer.json', vocabSize } },
    );
  }
  for (let id = 0; id < vocabSize; id++) {
    if (tokens[id] !== undefined) continue;
    tokens[id] = `[PAD${id}]`;
    types[id] = TokenType.unused;
  }
  return {
    'tokenizer.ggml.tokens': { type: 'array<string>', value: tokens },
    'tokenizer.ggml.token_type': { type: 'array<i32>', value: Int32Array.from(types) },
  };
}

function roleEntries(
  { bosTokenId, eosTokenIds, addBos, unknownPiece, vocabulary }: TokenizerDefinition,
  more: readonly number[],
): Entries {
  const ends = [...new Set([...eosTokenIds, ...more])];
  const ids: Record<string, number | undefined> = {
    bos_token_id: bosTokenId,
    unknown_token_id: unknownPiece === undefined ? undefined : vocabulary.get(unknownPiece),
    // Readers stop at each of them.
    eos_token_id: ends[0],
    eot_token_id: ends[1],
    eom_token_id: ends[2],
  };
  const entries: Entries = { 'tokenizer.ggml.add_bos_token': addBos };
  for (const [role, value] of Object.entries(ids)) {
    if (value !== undefined) entries[`tokenizer.ggml.${role}`] = { type: 'u32', value };
  }
  return entries;
}

function* byteLevelCandidates({ vocabulary, merges, ...definition }: TokenizerDefinition): Generator<Entries> {
  const pieces = piecesById(vocabulary);
  const pairs: string[] = [];
  for (let at = 0; at < merges.length; at += 3) pairs.push(`${pieces[merges[at]!]} ${pieces[merges[at + 1]!]}`);
  for (const pre of pipelineNames) {
    const { preTokenizer, normalizer, ignoreMerges } = pipelineOf(pre);
    const same = [preTokenizer, normalizer, ignoreMerges];
    if (
      !isDeepStrictEqual([definition.preTokenizer.slice(0, -1), definition.normalizer, definition.ignoreMerges], same)
    )
      continue;
    yield {
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': pre,
      'tokenizer.ggml.merges': { type: 'array<string>', value: pairs },
    };
  }
}

/** SentencePiece has scores in place of merges: the earlier a piece is merged, the higher. Pieces that nobody merges have 0. */
function sentencePieceCandidate(definition: TokenizerDefinition, vocabSize: number): Entries {
  const { merges, normalizer, preTokenizer } = definition;
  const scores = new Float32Array(vocabSize);
  let rank = 0;
  for (let at = 2; at < merges.length; at += 3) {
    const id = merges[at]!;
    if (scores[id] === 0) scores[id] = -++rank;
  }
  const addsSpace =
    normalizer.some(({ kind }) => kind === 'prepend') ||
    preTokenizer.some((step) => step.kind === 'metaspace' && step.prepend !== 'never');
  return {
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.scores': { type: 'array<f32>', value: scores },
    'tokenizer.ggml.add_space_prefix': addsSpace,
  };
}

function piecesById(vocabulary: ReadonlyMap<string, number>): string[] {
  const pieces: string[] = [];
  for (const [piece, id] of vocabulary) pieces[id] = piece;
  return pieces;
}

/** Whether a reader of the entries has a tokenizer that treats text as this one does. */
function readsBack(entries: GgufTokenizerEntries, definition: TokenizerDefinition): boolean {
  const plain = [...entries].map(([key, entry]) => [key, typeof entry === 'object' ? entry.value : entry] as const);
  const read = readGguf(new Map<string, unknown>(plain));
  const wanted = withoutIdleSteps(definition);
  const compared = ({ normalizer, preTokenizer, decoder, ...others }: TokenizerDefinition) => {
    const { ignoreMerges, byteFallback, addBos, bosTokenId } = others;
    return { normalizer, preTokenizer, decoder, ignoreMerges, byteFallback, addBos, bosTokenId };
  };
  if (!isDeepStrictEqual(compared(read), compared(wanted))) return false;
  return read.merges.length === wanted.merges.length && read.merges.every((id, i) => id === wanted.merges[i]);
}

/**
 * The same tokenizer without what never happens in it: splits at blanks that its normalizer has replaced, and merges to added
 * tokens, which are found before anything is merged (both in Gemma's).
 */
function withoutIdleSteps(definition: TokenizerDefinition): TokenizerDefinition {
  const hasNoBlanks = definition.normalizer.some(
    (step) => step.kind === 'replace' && step.pattern.kind === 'literal' && step.pattern.text === ' ',
  );
  const isIdle = (step: PreTokenizerStep) =>
    hasNoBlanks && step.kind === 'split' && step.pattern.kind === 'literal' && step.pattern.text === ' ';
  return {
    ...definition,
    preTokenizer: definition.preTokenizer.filter((step) => !isIdle(step)),
    merges: definition.byteFallback ? mergesOfText(definition) : definition.merges,
  };
}

/**
 * Merges without those to added tokens; those to the same piece in the order of their parts. Which of these comes first
 * decides nothing but how a run of equal letters is cut, and SentencePiece itself knows no order among them.
 */
function mergesOfText({ merges, addedTokens }: TokenizerDefinition): Int32Array<ArrayBuffer> {
  const added = new Set(addedTokens.map(({ id }) => id));
  const kept: Int32Array[] = [];
  for (let at = 0; at < merges.length; at += 3) {
    const triple = merges.subarray(at, at + 3);
    if (!triple.some((id) => added.has(id))) kept.push(triple);
  }
  const ordered = new Int32Array(kept.length * 3);
  for (let first = 0; first < kept.length; ) {
    let end = first + 1;
    while (end < kept.length && kept[end]![2] === kept[first]![2]) end++;
    const same = kept.slice(first, end).sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);
    same.forEach((triple, i) => {
      ordered.set(triple, 3 * (first + i));
    });
    first = end;
  }
  return ordered;
}
