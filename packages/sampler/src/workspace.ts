import { Candidates } from './candidates/candidates.ts';
import { SelectionBuffers } from './candidates/select-candidates.ts';

/** Buffers of one `sample` call. They hold nothing from one call to the next. */
export class Workspace {
  readonly candidates = new Candidates();
  readonly selection = new SelectionBuffers();
  #row = new Float32Array(0);

  /** A copy of the row that may be changed. */
  copyRow(logits: Float32Array): Float32Array {
    if (this.#row.length < logits.length) this.#row = new Float32Array(logits.length);
    const row = this.#row.subarray(0, logits.length);
    row.set(logits);
    return row;
  }
}

/**
 * One workspace for all samplers of the thread: `sample` is synchronous, so hundreds of sequences need not keep hundreds
 * of rows. A custom processor that samples inside `process` finds it taken and gets one of its own.
 */
let idle: Workspace | undefined = new Workspace();

/** Runs `use` with a workspace that nobody else has. */
export function withWorkspace<Result>(use: (workspace: Workspace) => Result): Result {
  const workspace = idle ?? new Workspace();
  idle = undefined;
  try {
    return use(workspace);
  } finally {
    idle = workspace;
  }
}
