import { UnsupportedError } from '@hearth/core';
import { readPattern, unsupportedPart } from './normalizer-steps.ts';
import { invalid, readArray, readObject, readString } from './read-value.ts';

/** How pieces become bytes again. Every supported decoder works piece by piece, apart from the start of the text. */
export interface DecoderPlan {
  /** `byte-letters`: each letter of a piece stands for a byte (GPT-2). `text`: a piece is its own text in UTF-8. */
  alphabet: 'byte-letters' | 'text';
  /** Literal replacements within a piece, in order, e.g. `▁` by a blank. */
  replacements: readonly { from: string; to: string }[];
  /** Pieces `<0x00>` to `<0xFF>` are bytes. */
  byteFallback: boolean;
  /** Text before each piece; a file without a decoder joins its pieces with blanks. */
  separator: string;
  start: StartRule;
}

/** What is taken away at the very start of a decoded text: the blank that encoding put there. */
export type StartRule =
  | { kind: 'keep' }
  /** Up to `count` blanks. */
  | { kind: 'strip-blanks'; count: number }
  /** Every blank of the first piece. */
  | { kind: 'strip-first-piece' };

/** Reads the `decoder` of a `tokenizer.json`. Kinds that byte-pair models do not use are refused by name. */
export function readDecoder(value: unknown, place: string): DecoderPlan {
  const plan: DecoderPlan = {
    alphabet: 'text',
    replacements: [],
    byteFallback: false,
    separator: '',
    start: { kind: 'keep' },
  };
  if (value === null || value === undefined) {
    return { ...plan, separator: ' ', start: { kind: 'strip-blanks', count: 1 } };
  }
  return listDecoders(value, place).reduce((sofar, { config, place }) => addDecoder(sofar, config, place), plan);
}

function listDecoders(value: unknown, place: string): { config: Record<string, unknown>; place: string }[] {
  const config = readObject(value, place);
  if (config.type !== 'Sequence') return [{ config, place }];
  return readArray(config.decoders, `${place}.decoders`).flatMap((item, index) =>
    listDecoders(item, `${place}.decoders[${index}]`),
  );
}

function addDecoder(plan: DecoderPlan, config: Record<string, unknown>, place: string): DecoderPlan {
  switch (config.type) {
    case 'ByteLevel':
      return { ...plan, alphabet: 'byte-letters' };
    case 'ByteFallback':
      return { ...plan, byteFallback: true };
    case 'Fuse':
      // Joins all pieces; ours are joined anyway.
      return plan;
    case 'Replace': {
      const pattern = readPattern(config.pattern, `${place}.pattern`);
      if (pattern.kind === 'regex') {
        throw new UnsupportedError(
          `${place} replaces by a regular expression; Hearth decodes with literal strings only.`,
          {
            details: { place },
          },
        );
      }
      const to = readString(config.content, `${place}.content`);
      return { ...plan, replacements: [...plan.replacements, { from: pattern.text, to }] };
    }
    case 'Strip': {
      if (config.content !== ' ' || config.stop !== 0) {
        throw new UnsupportedError(
          `${place} strips something else than blanks at the start, which Hearth does not do.`,
          {
            details: { place },
          },
        );
      }
      if (!Number.isInteger(config.start)) throw invalid(`${place}.start`, 'a whole number', config.start);
      return { ...plan, start: { kind: 'strip-blanks', count: Number(config.start) } };
    }
    case 'Metaspace': {
      const from = readString(config.replacement ?? '▁', `${place}.replacement`);
      const prepends =
        config.prepend_scheme === undefined ? config.add_prefix_space !== false : config.prepend_scheme !== 'never';
      return {
        ...plan,
        replacements: [...plan.replacements, { from, to: ' ' }],
        start: prepends ? { kind: 'strip-first-piece' } : plan.start,
      };
    }
    default:
      throw unsupportedPart('decoder', config.type, place, 'ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace');
  }
}
