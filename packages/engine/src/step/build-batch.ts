import type { Batch, RowOutput } from '@hearth/core';
import { numEntryRows, numEntryTokens, type StepEntry } from '../schedule/task.ts';

/**
 * Lays the entries of any number of sequences side by side in a ragged batch, in order. Their blocks must already reach
 * to the last position of the step. All cache groups use the same block table: blocks span all layers, and each group has
 * layers of its own in them. The tokens are left to `fillTokens`.
 */
export function buildBatch(entries: readonly StepEntry[], numGroups: number): Batch {
  const numTokens = entries.reduce((sum, entry) => sum + numEntryTokens(entry), 0);
  const positions = new Int32Array(numTokens);
  const cuSeqlensQ = new Int32Array(entries.length + 1);
  const contextLens = new Int32Array(entries.length);
  const outputRows: number[] = [];
  let row = 0;
  for (const [s, entry] of entries.entries()) {
    const count = numEntryTokens(entry);
    const firstOutput = row + count - numEntryRows(entry);
    for (let i = 0; i < count; i++, row++) {
      positions[row] = entry.start + i;
      if (row >= firstOutput) outputRows.push(row);
    }
    cuSeqlensQ[s + 1] = row;
    contextLens[s] = entry.start + count;
  }
  const blockTable = buildBlockTable(entries, contextLens);
  return {
    tokenIds: new Int32Array(numTokens),
    positions,
    cuSeqlensQ,
    contextLens,
    blockTables: Array.from({ length: numGroups }, () => blockTable),
    outputRows: Int32Array.from(outputRows),
  };
}

/** Puts the tokens of the entries into their batch: the last thing that is known of a step that is prepared ahead. */
export function fillTokens({ tokenIds }: Batch, entries: readonly StepEntry[]): void {
  let row = 0;
  for (const { task, start, numTokens, proposals } of entries) {
    for (let i = 0; i < numTokens; i++) tokenIds[row++] = task.sequence.tokenIds[start + i]!;
    for (const proposal of proposals) tokenIds[row++] = proposal;
  }
}

/** How the output rows of an entry are reduced, in order. */
export function rowOutputs(entry: StepEntry): RowOutput[] {
  return Array.from({ length: numEntryRows(entry) }, (_, row) => entry.task.rowOutput(row));
}

function buildBlockTable(entries: readonly StepEntry[], contextLens: Int32Array) {
  const tables = entries.map(({ task }) => task.sequence.blocks.table);
  const maxBlocks = Math.max(...tables.map((table) => table.length));
  const blocks = new Int32Array(contextLens.length * maxBlocks);
  for (const [s, table] of tables.entries()) blocks.set(table, s * maxBlocks);
  return { blocks, maxBlocks };
}
