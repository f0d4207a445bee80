import { setImmediate } from 'node:timers/promises';
import { throwIfAborted } from '@hearth/core';
import type { Statements, SummaryRow } from './database/statements.ts';
import { searchPatterns } from './search-patterns.ts';

/** How long others wait for their turn. A conversation is looked through in one go: a millisecond for some 200,000 characters. */
const sliceMs = 3;
const rowsOfSlice = 100;

export interface SearchOptions {
  readonly text: string;
  /** Only what was last changed before this change. */
  readonly before: number;
  /** Most that is found. */
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Looks through titles and messages, from the last changed conversation on, and lets others have their turn in between.
 * @throws AbortError
 */
export async function search(
  statements: () => Statements,
  { text, before, limit, signal }: SearchOptions,
): Promise<readonly SummaryRow[]> {
  throwIfAborted(signal);
  const patterns = searchPatterns(text);
  const inTitle = text.toLowerCase();
  const found: SummaryRow[] = [];
  let place = before;
  let sliceBeganAt = performance.now();
  for (;;) {
    const rows = statements().list.all(place, rowsOfSlice);
    for (const row of rows) {
      const { mentions } = statements();
      const isFound =
        row.title.toLowerCase().includes(inTitle) ||
        patterns.some((pattern) => mentions.get(row.key, pattern) !== undefined);
      if (isFound) found.push(row);
      if (found.length === limit) return found;
      if (performance.now() - sliceBeganAt < sliceMs) continue;
      await setImmediate();
      throwIfAborted(signal);
      sliceBeganAt = performance.now();
    }
    if (rows.length < rowsOfSlice) return found;
    place = rows.at(-1)!.change;
  }
}
