import type { RowOutput } from '@hearth/core';
import type { Task, TaskRows } from '../schedule/task.ts';
import type { Sequence } from './sequence.ts';

export interface RowsTaskOptions {
  readonly sequence: Sequence;
  /** Position of the first token whose row is wanted. */
  readonly from: number;
  readonly numRows: number;
  /** Default: 0. */
  readonly priority?: number;
  /** What the row of the token at `from` + index is reduced to. */
  readonly rowOutput: (index: number) => RowOutput;
  /** Receives each row, in ascending order. */
  readonly onRow: (index: number, rows: TaskRows, row: number) => void;
}

/** Computes output rows for some tokens of a sequence, side by side, as many at a time as a step gives. */
export class RowsTask implements Task {
  readonly priority: number;
  readonly proposals = [];
  readonly sequence: Sequence;
  readonly #options: RowsTaskOptions;
  #numDone = 0;

  constructor(options: RowsTaskOptions) {
    this.#options = options;
    this.sequence = options.sequence;
    this.priority = options.priority ?? 0;
  }

  get upTo(): number {
    return this.#options.from + this.#options.numRows;
  }

  get mostPositions(): number {
    return this.upTo;
  }

  get outputFrom(): number {
    return this.#options.from + this.#numDone;
  }

  get isDone(): boolean {
    return this.outputFrom >= this.upTo;
  }

  rowOutput(index: number): RowOutput {
    return this.#options.rowOutput(this.#numDone + index);
  }

  nextRowOutput(): undefined {
    return undefined;
  }

  accept(rows: TaskRows): void {
    for (let row = 0; row < rows.numRows; row++) this.#options.onRow(this.#numDone + row, rows, row);
    this.#numDone += rows.numRows;
  }
}
