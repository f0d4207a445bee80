import { DisposedError, InvalidArgumentError } from '@hearth/core';
import { integerOption } from '../check-option.ts';
import type { Proposer, SequenceProposer } from '../proposer.ts';
import { NgramTable } from './ngram-table.ts';

/** Longer n-grams find nothing that shorter ones miss, and each length takes a table. */
const MAX_NGRAM = 16;

export interface PromptLookupOptions {
  /** Shortest run of last tokens that is looked for, from 1. Default: 2; single tokens recur too often to say anything. */
  readonly minNgram?: number | undefined;
  /** Longest run of last tokens that is looked for, up to 16. Default: 4. */
  readonly maxNgram?: number | undefined;
}

/**
 * Guesses that the text goes on as it did where it last read like this: the longest run of last tokens, from `maxNgram`
 * down to `minNgram`, that occurred before; of its occurrences the most recent one; the tokens that followed it there.
 * (Prompt lookup decoding; Saxena, 2023.) It needs no model, and pays where text is copied: code, edits, quotations, lists.
 *
 * A copy that reaches the end of the text goes on with its own guesses, so that what repeats itself with a period of p tokens
 * is guessed as far as is asked for, not p tokens at a time.
 *
 * A sequence takes 8 to 16 bytes per token and n-gram length at most (48 with the defaults), and keeps no copy of the
 * tokens. A new token costs one table entry per length, a search one look-up per length.
 *
 * @throws InvalidArgumentError when the lengths are not 1 ≤ minNgram ≤ maxNgram ≤ 16
 */
export function promptLookup(options: PromptLookupOptions = {}): Proposer {
  const maxNgram = integerOption('maxNgram', options.maxNgram, { least: 1, most: MAX_NGRAM, fallback: 4 });
  const fallback = Math.min(2, maxNgram);
  const minNgram = integerOption('minNgram', options.minNgram, { least: 1, most: maxNgram, fallback });
  return { name: 'prompt-lookup', start: () => new SequenceLookup(minNgram, maxNgram) };
}

class SequenceLookup implements SequenceProposer {
  /** Longest n-grams first. */
  #tables: NgramTable[] | undefined;
  /** Length of the text when it was last seen: n-grams that end before its last token are in the tables. */
  #length = 0;

  constructor(minNgram: number, maxNgram: number) {
    this.#tables = Array.from({ length: maxNgram - minNgram + 1 }, (_, i) => new NgramTable(maxNgram - i));
  }

  propose(tokenIds: readonly number[], maxTokens: number): readonly number[] {
    const tables = this.#tables;
    if (!tables) throw new DisposedError('lookup');
    if (tokenIds.length < this.#length) {
      throw new InvalidArgumentError(
        `The text of a lookup only grows, but it went from ${this.#length} tokens to ${tokenIds.length}. Start a new one.`,
      );
    }
    this.#index(tokenIds, tables);
    if (maxTokens < 1) return [];
    for (const table of tables) {
      if (table.n > tokenIds.length) continue;
      const end = table.find(tokenIds, tokenIds.length);
      if (end > 0) return continuation(tokenIds, end, maxTokens);
    }
    return [];
  }

  async dispose(): Promise<void> {
    this.#tables = undefined;
  }

  /** Records every n-gram that something follows. So the last one of the text, which is looked for, never finds itself. */
  #index(tokenIds: readonly number[], tables: readonly NgramTable[]): void {
    const firstEnd = Math.max(this.#length, 1);
    for (const table of tables) {
      for (let end = Math.max(firstEnd, table.n); end < tokenIds.length; end++) table.add(tokenIds, end);
    }
    this.#length = tokenIds.length;
  }
}

/** The `count` tokens from `start` on; past the end of the text, those that were just copied. */
function continuation(tokenIds: readonly number[], start: number, count: number): number[] {
  const guesses: number[] = [];
  for (let from = start; guesses.length < count; from++) {
    guesses.push(from < tokenIds.length ? tokenIds[from]! : guesses[from - tokenIds.length]!);
  }
  return guesses;
}
