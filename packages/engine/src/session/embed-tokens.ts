import { type HearthError, InvalidArgumentError } from '@hearth/core';
import { RowsTask } from './rows-task.ts';
import { newSequence, type SessionRuntime } from './session-runtime.ts';
import { checkRequestOptions, type RequestOptions, Work } from './work.ts';

export interface EmbedOptions extends RequestOptions {
  /** What is computed is reused only by requests of the same salt, see `CreateSessionOptions`. Default: one that all share. */
  readonly cacheSalt?: string | undefined;
}

/**
 * The embedding of a text, [hiddenSize]: see `Model.embed`. It has a sequence of its own, whose blocks are free again at the
 * end, however it ends.
 */
export async function embedTokens(
  runtime: SessionRuntime,
  tokenIds: ArrayLike<number>,
  options: EmbedOptions,
): Promise<Float32Array> {
  const { priority = 0, cacheSalt = '' } = options;
  checkRequestOptions(options);
  const sequence = newSequence(runtime, { tokenIds, cacheSalt });
  if (sequence.length === 0) {
    throw new InvalidArgumentError('There is nothing to embed: give at least one token (BOS, for an empty text).');
  }
  const mean = new MeanRow(runtime.program.hiddenSize);
  const task = new RowsTask({
    sequence,
    from: 0,
    numRows: sequence.length,
    priority,
    rowOutput: () => ({ kind: 'hidden' }),
    onRow: (_, rows, row) => mean.add(rows.hidden(row)),
  });
  const work = new Work(options);
  let settle = () => {};
  const ended = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const endByModel = (reason: HearthError) => {
    work.stop(reason);
    return ended;
  };
  runtime.sequences.add(sequence);
  runtime.sessions.add(endByModel);
  try {
    await runtime.loop.run(task, work.signal);
    return mean.normalized();
  } catch (error) {
    throw work.reasonFor(error);
  } finally {
    work.end();
    sequence.releaseBlocks();
    runtime.sequences.delete(sequence);
    runtime.sessions.delete(endByModel);
    settle();
  }
}

/**
 * The mean of rows, in f64: rows are added in the order in which they come, ascending positions, so it does not depend on how
 * many come at a time.
 */
class MeanRow {
  readonly #sums: Float64Array;
  #numRows = 0;

  constructor(width: number) {
    this.#sums = new Float64Array(width);
  }

  add(row: Float32Array): void {
    for (let i = 0; i < row.length; i++) this.#sums[i]! += row[i]!;
    this.#numRows++;
  }

  /** Of Euclidean length 1, rounded to f32. A mean of zeros has no direction and stays. */
  normalized(): Float32Array {
    const means = this.#sums.map((sum) => sum / this.#numRows);
    let squares = 0;
    for (const mean of means) squares += mean * mean;
    const length = Math.sqrt(squares);
    return Float32Array.from(means, (mean) => (length === 0 ? 0 : mean / length));
  }
}
