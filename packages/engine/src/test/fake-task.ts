import type { Task, TaskRows } from '../schedule/task.ts';
import type { Sequence } from '../session/sequence.ts';

export interface FakeTaskOptions {
  readonly priority?: number;
  readonly outputFrom?: number;
  readonly proposals?: readonly number[];
  readonly mostPositions?: number;
  /** What the task does with its rows. */
  readonly onRows?: (rows: TaskRows, task: FakeTask) => void;
}

export interface FakeTask extends Task {
  isDone: boolean;
  proposals: readonly number[];
}

/** A task that wants the tokens of its sequence, and is done when the test says so. */
export function fakeTask(sequence: Sequence, options: FakeTaskOptions = {}): FakeTask {
  const { priority = 0, proposals = [], onRows } = options;
  const task: FakeTask = {
    sequence,
    priority,
    proposals,
    mostPositions: options.mostPositions ?? sequence.length,
    isDone: false,
    get upTo() {
      return sequence.length;
    },
    get outputFrom() {
      return options.outputFrom ?? sequence.length - 1;
    },
    rowOutput: () => ({ kind: 'logits' }),
    nextRowOutput: () => ({ kind: 'logits' }),
    accept: (rows) => onRows?.(rows, task),
  };
  return task;
}
