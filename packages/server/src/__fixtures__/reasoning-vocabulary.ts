import type { TokenMask } from '@hearth/core';
import type { TokenConstraint } from '@hearth/engine';
import type { ReasoningTokens } from '../generation/reasoning-tokens.ts';

const pieces = ['<think>', '</think>', '\n', '\n\n', 'hm', '{', '}', '</', 'think', '>', '>\n', '>{', '\n</think>', ''];
/** Ids by what they stand for. */
export const ids = {
  think: 0,
  end: 1,
  lf: 2,
  lf2: 3,
  hm: 4,
  open: 5,
  close: 6,
  slash: 7,
  word: 8,
  bracket: 9,
  bracketLf: 10,
  bracketOpen: 11,
  endOfText: 13,
} as const;
export const vocabSize = pieces.length;
/** Whatever may stand among thoughts before an answer. */
export const thoughts = [...pieces.keys()].filter((id) => id !== ids.endOfText);

/** A vocabulary of a few tokens. */
export const tokens: ReasoningTokens = {
  beginId: ids.think,
  endIds: [ids.end],
  endLineIds: [ids.lf, ids.end],
  endOfTextIds: [ids.endOfText],
  lineFeeds: new Map([
    [ids.lf, 1],
    [ids.lf2, 2],
  ]),
  pieceOf: (id) => pieces[id]!,
  overshooting: Array.from({ length: 9 }, (_, length) => (length === 1 ? [ids.bracketOpen] : [])),
};

/** An answer that is `{`, then `}`, and remembers what it was asked. */
export function braces() {
  const asked: (readonly number[])[] = [];
  const answer: TokenConstraint = {
    async nextMasks(known, guesses) {
      asked.push([...known]);
      const all = [...known, ...guesses];
      const wanted = [ids.open, ids.close];
      const masks: TokenMask[] = [];
      for (let at = known.length; at <= all.length; at++) {
        masks.push(maskOf(wanted[at]!));
        if (all[at] !== wanted[at]) break;
      }
      return masks;
    },
  };
  return { answer, asked };
}

function maskOf(...ids: number[]): TokenMask {
  return Uint32Array.of(ids.reduce((bits, id) => bits | (1 << id), 0));
}

function idsOf(mask: TokenMask | undefined): number[] | 'all' {
  if (!mask) return 'all';
  return [...pieces.keys()].filter((id) => (mask[0]! >>> id) & 1);
}

/** The ids that each mask allows. */
export async function allowed(constraint: TokenConstraint, known: number[], guesses: number[] = []) {
  return (await constraint.nextMasks(known, guesses)).map(idsOf);
}
