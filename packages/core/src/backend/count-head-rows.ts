import type { StepOutput } from './step-output.ts';

/** How many of a step's output rows the head runs on: the first ones, before those that are wanted as hidden rows. */
export function countHeadRows(output: StepOutput, numOutputRows: number): number {
  if (output.kind === 'hidden') return 0;
  if (output.kind === 'logits') return numOutputRows;
  return output.rows.filter(({ kind }) => kind !== 'hidden').length;
}
