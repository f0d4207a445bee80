import type { RowOutput } from '@hearth/core';
import type { Task, TaskRows } from '../schedule/task.ts';
import type { Sequence } from './sequence.ts';

/** Computes every token of a sequence that is not in the cache, and nothing more. */
export class ComputeTask implements Task {
  readonly priority: number;
  readonly proposals = [];
  readonly sequence: Sequence;
  readonly upTo: number;
  /** Those that were computed twice, because another task took their blocks, count twice. */
  numComputedTokens = 0;

  constructor(sequence: Sequence, priority = 0) {
    this.sequence = sequence;
    this.upTo = sequence.length;
    this.priority = priority;
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

  accept({ numTokens }: TaskRows): void {
    this.numComputedTokens += numTokens;
  }
}
