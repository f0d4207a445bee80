import { UnsupportedError } from '@hearth/core';
import { type Pattern, readPattern, unsupportedPart } from './normalizer-steps.ts';
import { invalid, readArray, readBoolean, readObject, readString } from './read-value.ts';

/** What becomes of the matches of a split: see `encode/split.ts`. */
export type SplitBehavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous';

/** How the text is cut into words. Each step cuts or changes the pieces that the one before it left. */
export type PreTokenizerStep =
  | { kind: 'split'; pattern: Pattern; behavior: SplitBehavior; invert: boolean }
  /** Puts a blank before every piece that has none. */
  | { kind: 'prefix-space' }
  /** Replaces blanks by `replacement` and may put one before the piece. */
  | { kind: 'metaspace'; replacement: string; prepend: 'always' | 'first' | 'never' }
  /** The pieces are words now, to be encoded by their UTF-8 bytes. Always the last step. */
  | { kind: 'bytes' };

/** The pattern of GPT-2, which the `ByteLevel` pre-tokenizer implies. */
export const gpt2Pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

const behaviors: readonly SplitBehavior[] = [
  'Removed',
  'Isolated',
  'MergedWithPrevious',
  'MergedWithNext',
  'Contiguous',
];

export function isolate(source: string): PreTokenizerStep {
  return { kind: 'split', pattern: { kind: 'regex', source }, behavior: 'Isolated', invert: false };
}

/**
 * Reads the `pre_tokenizer` of a `tokenizer.json` into a flat list of steps.
 *
 * `ByteLevel`, `Digits` and `Punctuation` become splits with the pattern that they stand for: @huggingface/tokenizers
 * has its own code for them, which differs from the reference in Unicode digits, U+0085, U+FEFF and runs of punctuation.
 */
export function readPreTokenizer(value: unknown, place: string): PreTokenizerStep[] {
  const steps = readSteps(value, place);
  const bytesAt = steps.findIndex((step) => step.kind === 'bytes');
  if (bytesAt >= 0 && bytesAt !== steps.length - 1) {
    throw new UnsupportedError(`${place} goes on after ByteLevel; Hearth takes ByteLevel as the last step only.`, {
      details: { place },
    });
  }
  return steps;
}

function readSteps(value: unknown, place: string): PreTokenizerStep[] {
  if (value === null || value === undefined) return [];
  const config = readObject(value, place);
  switch (config.type) {
    case 'Sequence':
      return readArray(config.pretokenizers, `${place}.pretokenizers`).flatMap((item, index) =>
        readSteps(item, `${place}.pretokenizers[${index}]`),
      );
    case 'ByteLevel': {
      const prefix: PreTokenizerStep[] = readBoolean(config.add_prefix_space, `${place}.add_prefix_space`, true)
        ? [{ kind: 'prefix-space' }]
        : [];
      const split = readBoolean(config.use_regex, `${place}.use_regex`, true) ? [isolate(gpt2Pattern)] : [];
      return [...prefix, ...split, { kind: 'bytes' }];
    }
    case 'Digits':
      return [
        isolate(readBoolean(config.individual_digits, `${place}.individual_digits`, false) ? '\\p{N}' : '\\p{N}+'),
      ];
    case 'Punctuation':
      return [
        {
          kind: 'split',
          // General punctuation, and the ASCII signs that Unicode counts as symbols.
          pattern: { kind: 'regex', source: '[\\p{P}$+<=>^`|~]' },
          behavior: readBehavior(config.behavior ?? 'Isolated', `${place}.behavior`),
          invert: false,
        },
      ];
    case 'Split':
      return [
        {
          kind: 'split',
          pattern: readPattern(config.pattern, `${place}.pattern`),
          behavior: readBehavior(config.behavior, `${place}.behavior`),
          invert: readBoolean(config.invert, `${place}.invert`, false),
        },
      ];
    case 'Metaspace':
      return readMetaspace(config, place);
    default:
      throw unsupportedPart('pre-tokenizer', config.type, place, 'ByteLevel, Split, Digits, Punctuation, Metaspace');
  }
}

function readMetaspace(config: Record<string, unknown>, place: string): PreTokenizerStep[] {
  const replacement = readString(config.replacement ?? '▁', `${place}.replacement`);
  // Older files have add_prefix_space instead of prepend_scheme.
  const prepend =
    config.prepend_scheme ??
    (readBoolean(config.add_prefix_space, `${place}.add_prefix_space`, true) ? 'always' : 'never');
  if (prepend !== 'always' && prepend !== 'first' && prepend !== 'never') {
    throw invalid(`${place}.prepend_scheme`, '"always", "first" or "never"', prepend);
  }
  const metaspace: PreTokenizerStep = { kind: 'metaspace', replacement, prepend };
  if (!readBoolean(config.split, `${place}.split`, true)) return [metaspace];
  const pattern: Pattern = { kind: 'literal', text: replacement };
  return [metaspace, { kind: 'split', pattern, behavior: 'MergedWithNext', invert: false }];
}

function readBehavior(value: unknown, place: string): SplitBehavior {
  const behavior = behaviors.find((name) => name === value);
  if (behavior === undefined) throw invalid(place, `one of ${behaviors.join(', ')}`, value);
  return behavior;
}
