import type { RowOutput } from '@hearth/core';
import type { Task } from '../schedule/task.ts';
import type { Sequence } from './sequence.ts';

/** Computes every token of a sequence that is not in the cache, and nothing more. */
export class ComputeTask implements Task {
  readonly priority = 0;
  readonly proposals = [];
  readonly sequence: Sequence;
  readonly upTo: number;

  constructor(sequence: Sequence) {
    this.sequence = sequence;
    this.upTo = sequence.length;
  }

  get mostPositions(): number {
    return this.upTo;
  }

  get outputFrom(): number {
    return this.upTo;
  }

  get isDone(): boolean {
    return this.sequence.numCachedTokens >= this.upTo;
  }

  rowOutput(): RowOutput {
    return { kind: 'logits' };
  }

  nextRowOutput(): undefined {
    return undefined;
  }

  accept(): void {}
}
