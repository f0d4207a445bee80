import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { AddedToken, TokenizerDefinition } from '../tokenizer-definition.ts';
import { readDecoder } from './decoder-plan.ts';
import { MergeList } from './merge-list.ts';
import { readNormalizer } from './normalizer-steps.ts';
import { readPreTokenizer } from './pre-tokenizer-steps.ts';
import {
  invalid,
  maxVocabularySize,
  readArray,
  readBoolean,
  readObject,
  readString,
  readTokenId,
  show,
} from './read-value.ts';
import { applyTokenizerConfig, withPrefixSpace } from './tokenizer-config.ts';

/**
 * Reads a parsed `tokenizer.json` (the format of Hugging Face tokenizers) with the `tokenizer_config.json` beside it.
 *
 * @throws InvalidModelError naming the place, when a part is damaged or parts contradict each other
 * @throws UnsupportedError naming the part, when it is sound but of a kind that Hearth does not have
 */
export function readTokenizerJson(value: unknown, config: unknown): TokenizerDefinition {
  const file = readObject(value, 'tokenizer.json');
  const model = readObject(file.model, 'model');
  checkModelKind(model);
  const vocabulary = readVocabulary(model.vocab);
  const definition: TokenizerDefinition = {
    vocabulary: vocabulary.ids,
    merges: readMerges(model.merges, vocabulary.ids),
    unknownPiece: readUnknownPiece(model.unk_token, vocabulary.ids),
    fuseUnknown: readBoolean(model.fuse_unk, 'model.fuse_unk', false),
    byteFallback: readBoolean(model.byte_fallback, 'model.byte_fallback', false),
    ignoreMerges: readBoolean(model.ignore_merges, 'model.ignore_merges', false),
    addedTokens: readAddedTokens(file.added_tokens, vocabulary),
    normalizer: readNormalizer(file.normalizer, 'normalizer'),
    preTokenizer: readPreTokenizer(withPrefixSpace(file.pre_tokenizer, config), 'pre_tokenizer'),
    decoder: readDecoder(file.decoder, 'decoder'),
    bosTokenId: undefined,
    eosTokenIds: [],
    addBos: false,
  };
  return applyTokenizerConfig(definition, file.post_processor, config);
}

function checkModelKind(model: Record<string, unknown>): void {
  // Older files have no type; merges and a vocabulary by name make it a byte-pair model.
  const isBpe = model.type === 'BPE' || (model.type === undefined && model.merges !== undefined);
  if (!isBpe) {
    throw new UnsupportedError(
      `model.type is ${show(model.type)}, but Hearth encodes byte-pair models ("BPE") only, as all models it runs use.`,
      { details: { place: 'model.type', type: model.type } },
    );
  }
  for (const key of ['continuing_subword_prefix', 'end_of_word_suffix']) {
    if (model[key] !== undefined && model[key] !== null && model[key] !== '') {
      throw new UnsupportedError(
        `model.${key} is ${show(model[key])}; Hearth knows byte-pair models without it only.`,
        {
          details: { place: `model.${key}` },
        },
      );
    }
  }
  if (typeof model.dropout === 'number' && model.dropout > 0) {
    throw new UnsupportedError(
      `model.dropout is ${model.dropout}; the same text would not always give the same tokens.`,
      {
        details: { place: 'model.dropout' },
      },
    );
  }
}

/** Pieces by name and by id. */
interface Vocabulary {
  ids: Map<string, number>;
  pieces: Map<number, string>;
}

function readVocabulary(value: unknown): Vocabulary {
  const ids = new Map<string, number>();
  const pieces = new Map<number, string>();
  for (const [piece, id] of Object.entries(readObject(value, 'model.vocab'))) {
    // The place is put together for an error only: there are a quarter of a million of these.
    const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < maxVocabularySize;
    if (!isId) readTokenId(id, `model.vocab[${show(piece)}]`);
    const other = pieces.get(id as number);
    if (other !== undefined) {
      const place = `model.vocab[${show(piece)}]`;
      throw new InvalidModelError(`${place} has the id ${id}, which ${show(other)} has too.`, { details: { place } });
    }
    pieces.set(id as number, piece);
    ids.set(piece, id as number);
  }
  if (ids.size === 0) throw invalid('model.vocab', 'an object with at least one piece', value);
  return { ids, pieces };
}

/** Merges are strings with one blank between the parts in older files, and pairs (whose parts may hold blanks) in newer. */
function readMerges(value: unknown, vocabulary: ReadonlyMap<string, number>): Int32Array<ArrayBuffer> {
  // A list taken over from a merges.txt may begin with its first line, which the reference passes over, too.
  const list = readArray(value, 'model.merges').filter(
    (item) => typeof item !== 'string' || !item.startsWith('#version'),
  );
  const asPairs = Array.isArray(list[0]);
  const merges = new MergeList(vocabulary, list.length, 'model.vocab');
  list.forEach((item, index) => {
    const place = () => `model.merges[${index}]`;
    const parts = asPairs ? item : typeof item === 'string' ? item.split(' ') : undefined;
    if (!Array.isArray(parts)) throw invalid(place(), asPairs ? 'a pair, as the first merge is' : 'a string', item);
    const [left, right] = parts;
    if (parts.length !== 2 || typeof left !== 'string' || typeof right !== 'string') {
      throw invalid(place(), 'two parts', item);
    }
    merges.add(left, right, place);
  });
  return merges.ids;
}

function readUnknownPiece(value: unknown, vocabulary: ReadonlyMap<string, number>): string | undefined {
  if (value === null || value === undefined) return undefined;
  const piece = readString(value, 'model.unk_token');
  if (vocabulary.has(piece)) return piece;
  throw new InvalidModelError(`model.unk_token is ${show(piece)}, which is not in model.vocab.`, {
    details: { place: 'model.unk_token' },
  });
}

function readAddedTokens(value: unknown, vocabulary: Vocabulary): AddedToken[] {
  if (value === null || value === undefined) return [];
  const idOfContent = new Map<string, number>();
  const contentOfId = new Map<number, string>();
  return readArray(value, 'added_tokens').map((item, index) => {
    const place = `added_tokens[${index}]`;
    const entry = readObject(item, place);
    const token = readAddedToken(entry, readTokenId(entry.id, `${place}.id`), place);
    const knownId = idOfContent.get(token.content) ?? vocabulary.ids.get(token.content);
    const knownContent = contentOfId.get(token.id) ?? vocabulary.pieces.get(token.id);
    if ((knownId ?? token.id) !== token.id || (knownContent ?? token.content) !== token.content) {
      throw new InvalidModelError(
        `${place} gives ${show(token.content)} the id ${token.id}, but elsewhere the file says ${
          knownId === undefined ? `that id is ${show(knownContent)}` : `its id is ${knownId}`
        }.`,
        { details: { place } },
      );
    }
    idOfContent.set(token.content, token.id);
    contentOfId.set(token.id, token.content);
    return token;
  });
}

/** Reads the flags of an added token; they have the same names in `tokenizer.json` and `tokenizer_config.json`. */
export function readAddedToken(entry: Record<string, unknown>, id: number, place: string): AddedToken {
  const content = readString(entry.content, `${place}.content`);
  if (content === '') throw invalid(`${place}.content`, 'a text that is not empty', content);
  const special = readBoolean(entry.special, `${place}.special`, false);
  return {
    id,
    content,
    special,
    lstrip: readBoolean(entry.lstrip, `${place}.lstrip`, false),
    rstrip: readBoolean(entry.rstrip, `${place}.rstrip`, false),
    singleWord: readBoolean(entry.single_word, `${place}.single_word`, false),
    normalized: readBoolean(entry.normalized, `${place}.normalized`, !special),
  };
}
