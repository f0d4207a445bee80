import type { Constraint } from '../constraint-compiler.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Ids whose bits are set. */
export function idsOf(mask: ArrayLike<number>): number[] {
  return Array.from({ length: mask.length * 32 }, (_, id) => id).filter((id) => (mask[id >>> 5]! >>> (id & 31)) & 1);
}

export interface Walk {
  readonly tokenIds: readonly number[];
  readonly text: string;
  /** Whether it came to its end token. */
  readonly isOver: boolean;
}

/** Takes an allowed token, again and again, as `choose` says: by the number of those that are allowed. */
export async function walk(
  constraint: Constraint,
  vocabulary: Vocabulary,
  choose: (allowed: readonly number[]) => number,
  mostTokens: number,
): Promise<Walk> {
  const matcher = constraint.start();
  const tokenIds: number[] = [];
  let isOver = false;
  while (tokenIds.length < mostTokens && !isOver) {
    const tokenId = choose(idsOf(await matcher.nextMask(tokenIds)));
    tokenIds.push(tokenId);
    isOver = vocabulary.eosTokenIds.includes(tokenId);
  }
  matcher.dispose();
  return { tokenIds, text: textOf(tokenIds, vocabulary), isOver };
}

/** The text of tokens, which has to be UTF-8 when it is over. */
function textOf(tokenIds: readonly number[], vocabulary: Vocabulary): string {
  const bytes = tokenIds.filter((id) => !vocabulary.isSpecial(id)).flatMap((id) => [...vocabulary.tokenBytes(id)]);
  return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes), { stream: true });
}

/** Whether a constraint takes a text, byte by byte, and lets it end there. Byte b is token b. */
export async function accepts(constraint: Constraint, text: string): Promise<boolean> {
  const matcher = constraint.start();
  try {
    await matcher.nextMask([...new TextEncoder().encode(text)]);
    return matcher.isComplete;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'constraint') return false;
    throw error;
  } finally {
    matcher.dispose();
  }
}
