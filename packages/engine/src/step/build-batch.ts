import type { Batch, BlockTable, SampleRow, StepOutput } from '@hearth/core';
import type { Sequence } from '../session/sequence.ts';

/** The part of one sequence in a step: its next `numTokens` tokens that are not in the cache yet. */
export interface SequenceStep {
  readonly sequence: Sequence;
  readonly numTokens: number;
  /** Of which of these tokens the logits are wanted. */
  readonly outputs: 'none' | 'last' | 'all';
  /** A token per output row: its log-probability and the row's argmax are wanted instead of the logits. */
  readonly targets?: Int32Array;
  /** How to choose a token from the only output row, which is then wanted instead of the logits. */
  readonly sample?: SampleRow;
}

/** How many output rows a step asks for. */
export function numOutputRows(step: SequenceStep): number {
  return step.outputs === 'all' ? step.numTokens : step.outputs === 'last' ? 1 : 0;
}

/** What the output rows of a step are reduced to. */
export function stepOutput({ targets, sample }: SequenceStep): StepOutput {
  if (targets) return { kind: 'rows', rows: Array.from(targets, (tokenId) => ({ kind: 'logprob', tokenId })) };
  return sample ? { kind: 'rows', rows: [{ kind: 'sample', ...sample }] } : { kind: 'logits' };
}

/**
 * Lays the steps of any number of sequences side by side in a ragged batch, in order. Their blocks must already reach
 * to the last position of the step.
 */
export function buildBatch(steps: readonly SequenceStep[], numGroups: number): Batch {
  const numTokens = steps.reduce((sum, step) => sum + step.numTokens, 0);
  const tokenIds = new Int32Array(numTokens);
  const positions = new Int32Array(numTokens);
  const cuSeqlensQ = new Int32Array(steps.length + 1);
  const contextLens = new Int32Array(steps.length);
  const outputRows: number[] = [];
  let row = 0;
  for (const [s, { sequence, numTokens: count, outputs }] of steps.entries()) {
    const start = sequence.numCachedTokens;
    for (let i = 0; i < count; i++, row++) {
      tokenIds[row] = sequence.tokenIds[start + i]!;
      positions[row] = start + i;
      if (outputs === 'all' || (outputs === 'last' && i === count - 1)) outputRows.push(row);
    }
    cuSeqlensQ[s + 1] = row;
    contextLens[s] = start + count;
  }
  // Groups never share a layer, so they can share the blocks.
  const blockTables = new Array<BlockTable>(numGroups).fill(buildBlockTable(steps));
  return { tokenIds, positions, cuSeqlensQ, contextLens, blockTables, outputRows: Int32Array.from(outputRows) };
}

function buildBlockTable(steps: readonly SequenceStep[]): BlockTable {
  const tables = steps.map((step) => step.sequence.blocks.table);
  const maxBlocks = Math.max(...tables.map((table) => table.length));
  const blocks = new Int32Array(steps.length * maxBlocks);
  for (const [s, table] of tables.entries()) blocks.set(table, s * maxBlocks);
  return { blocks, maxBlocks };
}
