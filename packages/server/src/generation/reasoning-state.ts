import { type ReasoningBlock, reasoningMarkers } from '@hearth/chat-format';
import type { ReasoningTokens } from './reasoning-tokens.ts';

const endMarker = reasoningMarkers.end;

/**
 * Where a text is: before a block that the model may open, in the block, in the line feeds after it, or in the answer, of
 * which `begin` is the first token.
 */
export type ReasoningState =
  | { readonly phase: 'start' }
  | { readonly phase: 'block'; readonly numTokens: number; readonly tail: string }
  | { readonly phase: 'gap'; readonly numLineFeeds: number }
  | { readonly phase: 'answer'; readonly begin: number };

/** Models write two between their thoughts and the answer. */
const mostLineFeeds = 2;

/** Where a text begins. A model that cannot open the block with one token begins with the answer. */
export function firstState(block: ReasoningBlock, { beginId }: ReasoningTokens): ReasoningState {
  if (block === 'open') return { phase: 'block', numTokens: 0, tail: '' };
  return beginId === undefined ? { phase: 'answer', begin: 0 } : { phase: 'start' };
}

/** Where a text is after the token at `index`. */
export function nextState(
  state: ReasoningState,
  tokens: ReasoningTokens,
  tokenId: number,
  index: number,
): ReasoningState {
  switch (state.phase) {
    case 'start':
      if (tokenId === tokens.beginId) return { phase: 'block', numTokens: 0, tail: '' };
      return { phase: 'answer', begin: index };
    case 'block': {
      const text = state.tail + tokens.pieceOf(tokenId);
      const end = text.indexOf(endMarker);
      if (end >= 0) return afterBlock(text.length - end - endMarker.length, index);
      return { phase: 'block', numTokens: state.numTokens + 1, tail: text.slice(1 - endMarker.length) };
    }
    case 'gap': {
      const numMore = tokens.lineFeeds.get(tokenId);
      if (numMore === undefined || numMore > mostLineFeeds - state.numLineFeeds)
        return { phase: 'answer', begin: index };
      return afterBlock(state.numLineFeeds + numMore, index);
    }
    default:
      return state;
  }
}

function afterBlock(numLineFeeds: number, index: number): ReasoningState {
  return numLineFeeds < mostLineFeeds ? { phase: 'gap', numLineFeeds } : { phase: 'answer', begin: index + 1 };
}

/** Tokens that keep to the state although they are no part of the answer: the begin of the block, and line feeds after it. */
export function tokensBeforeAnswer(state: ReasoningState, { beginId, lineFeeds }: ReasoningTokens): number[] {
  if (state.phase === 'start') return beginId === undefined ? [] : [beginId];
  if (state.phase !== 'gap') return [];
  return [...lineFeeds].flatMap(([id, length]) => (length <= mostLineFeeds - state.numLineFeeds ? [id] : []));
}

/** Tokens that would leave the block without an answer, or begin the answer within the token that ends the block. */
export function tokensAgainstAnswer(tail: string, { endOfTextIds, overshooting }: ReasoningTokens): number[] {
  const tooLong = overshooting.flatMap((ids, length) =>
    length > 0 && tail.endsWith(endMarker.slice(0, endMarker.length - length)) ? ids : [],
  );
  return [...endOfTextIds, ...tooLong];
}
