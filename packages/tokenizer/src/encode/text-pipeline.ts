import { InvalidModelError, LimitExceededError } from '@hearth/core';
import {
  NFCNormalizer,
  NFDNormalizer,
  NFKCNormalizer,
  NFKDNormalizer,
  ReplaceNormalizer,
  SplitPreTokenizer,
} from '@huggingface/tokenizers';
import type { NormalizerStep, Pattern } from '../read/normalizer-steps.ts';
import type { PreTokenizerStep } from '../read/pre-tokenizer-steps.ts';
import { split } from './split.ts';

/** One step of normalizing. */
interface Normalizer {
  normalize(text: string): string;
}

/** One step of cutting a text into words. `isStart` is true for the piece that begins the whole text. */
type CutStep = (pieces: string[], isStart: boolean) => string[];

/**
 * Longest text that a normalizer may make, in UTF-16 units; the default limit of a text is a quarter of it. A file may
 * replace one letter by a thousand, several times over.
 */
const maxNormalizedLength = 2 ** 26;

/** Normalizes text and cuts it into words, with the normalizers and the pattern translation of @huggingface/tokenizers. */
export class TextPipeline {
  readonly #normalizers: readonly Normalizer[];
  readonly #steps: readonly CutStep[];

  constructor(normalizer: readonly NormalizerStep[], preTokenizer: readonly PreTokenizerStep[]) {
    this.#normalizers = normalizer.map(createNormalizer);
    this.#steps = preTokenizer.flatMap((step) => createStep(step) ?? []);
  }

  normalize(text: string): string {
    return this.#normalizers.reduce<string>((sofar, normalizer) => normalizeBounded(normalizer, sofar), text);
  }

  /** @param isStart whether nothing, not even a token, stands before this text */
  cut(text: string, isStart: boolean): string[] {
    return this.#steps.reduce((pieces, step) => step(pieces, isStart), [text]);
  }
}

/** @throws LimitExceededError when the text grows beyond all measure */
function normalizeBounded(normalizer: Normalizer, text: string): string {
  let cause: unknown;
  try {
    const normalized = normalizer.normalize(text);
    if (normalized.length <= maxNormalizedLength) return normalized;
  } catch (error) {
    // "Invalid string length": it did not even fit into a string.
    if (!(error instanceof RangeError)) throw error;
    cause = error;
  }
  throw new LimitExceededError(
    `The normalizer of the tokenizer makes more than ${maxNormalizedLength} UTF-16 units of a text of ${text.length}. The tokenizer is damaged, or the text is too long.`,
    { cause, details: { limit: 'normalizedLength', maxNormalizedLength, length: text.length } },
  );
}

const unicodeNormalizers = { NFC: NFCNormalizer, NFD: NFDNormalizer, NFKC: NFKCNormalizer, NFKD: NFKDNormalizer };

function createNormalizer(step: NormalizerStep): Normalizer {
  switch (step.kind) {
    case 'unicode':
      return new unicodeNormalizers[step.form]({ type: step.form });
    case 'prepend':
      // Not the library's, which puts it before nothing, too.
      return { normalize: (text) => (text === '' ? '' : step.text + text) };
    case 'replace': {
      // The library hands the content to String.replaceAll, where `$` has a meaning of its own.
      const content = step.content.replaceAll('$', '$$$$');
      return translating(step.pattern, (pattern) => new ReplaceNormalizer({ type: 'Replace', pattern, content }));
    }
  }
}

function createStep(step: PreTokenizerStep): CutStep | undefined {
  switch (step.kind) {
    case 'split': {
      const { behavior, invert } = step;
      const pattern = compilePattern(step.pattern);
      return (pieces) => pieces.flatMap((piece) => split(piece, pattern, behavior, invert));
    }
    case 'prefix-space':
      return (pieces) => pieces.map((piece) => (piece.startsWith(' ') ? piece : ` ${piece}`));
    case 'metaspace': {
      const { replacement, prepend } = step;
      return (pieces, isStart) =>
        pieces.map((piece, index) => {
          const replaced = piece.replaceAll(' ', () => replacement);
          const prepends = prepend === 'always' || (prepend === 'first' && isStart && index === 0);
          return prepends && !replaced.startsWith(replacement) ? replacement + replaced : replaced;
        });
    }
    case 'bytes':
      return undefined;
  }
}

function compilePattern(pattern: Pattern): RegExp {
  const compiled = translating(pattern, (libraryPattern) => {
    const options = { type: 'Split', pattern: libraryPattern, behavior: 'Isolated', invert: false } as const;
    return new SplitPreTokenizer(options).pattern;
  });
  if (compiled === null) throw new InvalidModelError(`The pattern ${JSON.stringify(pattern)} cannot be used.`);
  return compiled;
}

/**
 * In Oniguruma's case-insensitive matching `s` also stands for the long s, U+017F; the library folds ASCII letters only.
 * Nearly every model since GPT-4 has this group.
 */
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const foldedContractions = "(?:'[sS\\u017f]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";

function translating<T>(pattern: Pattern, create: (pattern: { String?: string; Regex?: string }) => T): T {
  if (pattern.kind === 'literal') return create({ String: pattern.text });
  try {
    return create({ Regex: pattern.source.replaceAll(contractions, () => foldedContractions) });
  } catch (cause) {
    throw new InvalidModelError(
      `The regular expression ${JSON.stringify(pattern.source)} of the tokenizer cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { cause, details: { pattern: pattern.source } },
    );
  }
}
