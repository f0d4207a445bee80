import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { TokenizerDefinition } from '../tokenizer-definition.ts';
import { type BytePairPipeline, pipelineOf } from './gguf-pre-tokenizers.ts';
import { readSentencePiece } from './gguf-sentence-piece.ts';
import { type GgufVocabulary, readGgufVocabulary, TokenType } from './gguf-vocabulary.ts';
import { MergeList } from './merge-list.ts';
import { invalid, readBoolean, readString, readTokenId, show } from './read-value.ts';

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

/** What other values of `tokenizer.ggml.model` stand for. */
const otherModels: Readonly<Record<string, string>> = {
  bert: 'WordPiece',
  t5: 'Unigram',
  rwkv: 'the longest match in a list of words',
  plamo2: 'Unigram over the end of the text',
  gemma4: 'BPE over characters with a list of merges',
};

/**
 * Rebuilds a tokenizer from the `tokenizer.ggml.*` keys of a GGUF file: byte-level BPE (`gpt2`) with the table of
 * `tokenizer.ggml.pre`, or SentencePiece BPE (`llama`) with merges derived from the scores.
 */
export function readGguf(metadata: ReadonlyMap<string, unknown>): TokenizerDefinition {
  const place = 'tokenizer.ggml.model';
  if (metadata.get(place) === undefined) {
    const message = `The GGUF file has no tokenizer (${place} is absent), so text cannot be turned into tokens.`;
    throw new InvalidModelError(message, { details: { place } });
  }
  const model = readString(metadata.get(place), place);
  if (model !== 'gpt2' && model !== 'llama') throw unsupportedModel(model);
  const vocabulary = readGgufVocabulary(metadata);
  const definition = model === 'gpt2' ? readBytePair(metadata, vocabulary) : readSentencePiece(metadata, vocabulary);
  return { ...definition, ...readRoles(metadata, vocabulary, definition.addBos) };
}

function unsupportedModel(model: string): UnsupportedError {
  const kind = Object.hasOwn(otherModels, model) ? ` (${otherModels[model]})` : '';
  return new UnsupportedError(
    `The GGUF key tokenizer.ggml.model is ${show(model)}${kind}, but Hearth knows "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE).`,
    { details: { place: 'tokenizer.ggml.model', model } },
  );
}

function readBytePair(metadata: ReadonlyMap<string, unknown>, vocabulary: GgufVocabulary): TokenizerDefinition {
  const pipeline: BytePairPipeline = pipelineOf(
    readString(metadata.get('tokenizer.ggml.pre') ?? 'default', 'tokenizer.ggml.pre'),
  );
  return {
    vocabulary: vocabulary.ids,
    merges: readMerges(metadata.get('tokenizer.ggml.merges'), vocabulary.ids),
    unknownPiece: undefined,
    fuseUnknown: false,
    byteFallback: false,
    ignoreMerges: pipeline.ignoreMerges,
    addedTokens: vocabulary.addedTokens,
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

function readRoles(
  metadata: ReadonlyMap<string, unknown>,
  { tokens, types }: GgufVocabulary,
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
    addBos:
      bosTokenId !== undefined &&
      readBoolean(metadata.get('tokenizer.ggml.add_bos_token'), 'tokenizer.ggml.add_bos_token', addBosByDefault),
  };
}
