import { UnsupportedError } from '@hearth/core';
import type { AddedToken, TokenizerDefinition } from '../tokenizer-definition.ts';
import type { DecoderPlan } from './decoder-plan.ts';
import { type GgufVocabulary, readNumbers, TokenType } from './gguf-vocabulary.ts';
import type { NormalizerStep } from './normalizer-steps.ts';
import type { PreTokenizerStep } from './pre-tokenizer-steps.ts';
import { readBoolean } from './read-value.ts';
import { deriveMerges, type ScoredPiece } from './spm-merges.ts';

/** Phi-3's tokens that keep the white space on their right; all its others swallow it. */
const phi3KeepsBlanksAfter = new Set(['<unk>', '<s>', '<|endoftext|>']);
const toMeta = (text: string) => text.replaceAll(' ', '▁');

/**
 * SentencePiece BPE (`tokenizer.ggml.model` is `llama`), with merges derived from the scores.
 *
 * Some of what a `tokenizer.json` says GGUF does not hold, and it follows from the family: where the blank before the text
 * goes (Mistral), and which control tokens swallow white space (Phi-3).
 */
export function readSentencePiece(
  metadata: ReadonlyMap<string, unknown>,
  vocabulary: GgufVocabulary,
): TokenizerDefinition {
  const { tokens, types } = vocabulary;
  const scores = readNumbers(metadata.get('tokenizer.ggml.scores'), 'tokenizer.ggml.scores', tokens.length);
  const addSpace = readFlag(metadata, 'tokenizer.ggml.add_space_prefix', true);
  const pieces = new Map<string, ScoredPiece>();
  tokens.forEach((piece, id) => {
    if (types[id] === TokenType.normal) pieces.set(piece, { id, score: scores[id] as number });
  });
  const unknownId = types.indexOf(TokenType.unknown);
  return {
    vocabulary: vocabulary.ids,
    merges: deriveMerges(pieces),
    unknownPiece: unknownId < 0 ? undefined : tokens[unknownId],
    fuseUnknown: true,
    byteFallback: true,
    ignoreMerges: false,
    addedTokens: readAddedTokens(vocabulary, metadata.get('general.architecture') === 'phi3'),
    ...readBlanks(metadata, vocabulary, addSpace),
    decoder: decoderOf(addSpace, removesBlanks(metadata)),
    bosTokenId: undefined,
    eosTokenIds: [],
    addBos: true,
  };
}

function readAddedTokens({ addedTokens }: GgufVocabulary, isPhi3: boolean): AddedToken[] {
  return addedTokens.map((token) => {
    const { content, special } = token;
    // User-defined runs of blanks (Gemma), as blanks or as the letter that stands for them: that letter is what they are
    // looked for by, since a text may hold it too.
    if (!special && /[ ▁]/.test(content)) return { ...token, normalized: true, spelling: toMeta(content) };
    return { ...token, rstrip: isPhi3 && !phi3KeepsBlanksAfter.has(content) };
  });
}

function readBlanks(
  metadata: ReadonlyMap<string, unknown>,
  vocabulary: GgufVocabulary,
  addSpace: boolean,
): { normalizer: NormalizerStep[]; preTokenizer: PreTokenizerStep[] } {
  if (vocabulary.addedTokens.some(({ content, special }) => special && content === '[INST]')) {
    // Mistral since its version 2 has tokens for the turns and puts the blank before the whole text only; its template
    // writes the others.
    return {
      normalizer: [],
      preTokenizer: [{ kind: 'metaspace', replacement: '▁', prepend: addSpace ? 'first' : 'never' }],
    };
  }
  return {
    normalizer: [
      ...readNormalizerRules(metadata),
      // The blank comes before each stretch of text, also after a special token.
      ...(addSpace ? [{ kind: 'prepend', text: '▁' } as const] : []),
      { kind: 'replace', pattern: { kind: 'literal', text: ' ' }, content: '▁' },
    ],
    preTokenizer: [],
  };
}

/** @throws UnsupportedError for a table of replacements; no byte-pair model that Hearth runs has one */
function readNormalizerRules(metadata: ReadonlyMap<string, unknown>): NormalizerStep[] {
  const place = 'tokenizer.ggml.precompiled_charsmap';
  const table = metadata.get(place);
  if (table !== undefined && (table as ArrayLike<unknown>).length !== 0) {
    throw new UnsupportedError(
      `The GGUF key ${place} holds a table of character replacements, which Hearth does not have. It reads SentencePiece models that leave characters as they are.`,
      { details: { place } },
    );
  }
  if (!removesBlanks(metadata)) return [];
  const remove = (source: string, content: string): NormalizerStep => ({
    kind: 'replace',
    pattern: { kind: 'regex', source },
    content,
  });
  // Not ^ and $, which in the syntax of these files are the ends of a line.
  return [remove('(?<![\\s\\S]) +|[ ▁]+(?![\\s\\S])', ''), remove(' {2,}', ' ')];
}

/** Whether the model was trained without blanks at the ends of a text and without runs of them. */
function removesBlanks(metadata: ReadonlyMap<string, unknown>): boolean {
  return readFlag(metadata, 'tokenizer.ggml.remove_extra_whitespaces', false);
}

function decoderOf(addSpace: boolean, removesBlanks: boolean): DecoderPlan {
  const count = removesBlanks ? Number.MAX_SAFE_INTEGER : addSpace ? 1 : 0;
  return {
    alphabet: 'text',
    replacements: [{ from: '▁', to: ' ' }],
    byteFallback: true,
    separator: '',
    start: count === 0 ? { kind: 'keep' } : { kind: 'strip-blanks', count },
  };
}

function readFlag(metadata: ReadonlyMap<string, unknown>, key: string, byDefault: boolean): boolean {
  return readBoolean(metadata.get(key), key, byDefault);
}
