import type { RowScores } from '../step/step-loop.ts';
import { computeUncached, runStep } from './compute.ts';
import type { Sequence } from './sequence.ts';
import type { SessionRuntime } from './session-runtime.ts';

/**
 * Appends tokens and computes the logits after each of them, [tokenIds.length, vocabSize]. When it rejects, the sequence is
 * as long as before.
 */
export async function forwardTokens(
  runtime: SessionRuntime,
  sequence: Sequence,
  tokenIds: ArrayLike<number>,
  signal: AbortSignal,
): Promise<Float32Array> {
  const { loop, vocabSize } = runtime;
  const rows = new Float32Array(tokenIds.length * vocabSize);
  const start = sequence.length;
  await appending(sequence, tokenIds, () =>
    evaluateRows(runtime, sequence, start, tokenIds.length, signal, (firstRow, numTokens) => {
      const onLogits = (logits: Float32Array) => rows.set(logits, firstRow * vocabSize);
      return runStep(loop, { sequence, numTokens, outputs: 'all' }, { signal, onLogits });
    }),
  );
  return rows;
}

/**
 * Appends tokens and computes the log-probability of each given everything before it, and the most likely token in its
 * place. The sequence holds at least one token before. When it rejects, it is as long as before.
 */
export async function scoreTokens(
  runtime: SessionRuntime,
  sequence: Sequence,
  tokenIds: Int32Array,
  signal: AbortSignal,
): Promise<RowScores> {
  const scores = { logprobs: new Float32Array(tokenIds.length), argmax: new Int32Array(tokenIds.length) };
  // The row that predicts a token is that of the token before it, which may have been computed without an output.
  const start = sequence.length - 1;
  sequence.numCachedTokens = Math.min(sequence.numCachedTokens, start);
  await appending(sequence, tokenIds, () =>
    evaluateRows(runtime, sequence, start, tokenIds.length, signal, (firstRow, numTokens) => {
      const targets = tokenIds.slice(firstRow, firstRow + numTokens);
      const onScores = ({ logprobs, argmax }: RowScores) => {
        scores.logprobs.set(logprobs, firstRow);
        scores.argmax.set(argmax, firstRow);
      };
      return runStep(runtime.loop, { sequence, numTokens, outputs: 'all', targets }, { signal, onScores });
    }),
  );
  return scores;
}

async function appending(sequence: Sequence, tokenIds: ArrayLike<number>, run: () => Promise<void>): Promise<void> {
  const { length } = sequence;
  sequence.append(tokenIds);
  try {
    await run();
  } catch (error) {
    sequence.truncate(length);
    throw error;
  }
}

/** Runs `numRows` tokens from `start` on with an output row each, as many at a time as a step gives. */
async function evaluateRows(
  { loop, chunkTokens, maxOutputRows }: SessionRuntime,
  sequence: Sequence,
  start: number,
  numRows: number,
  signal: AbortSignal,
  run: (firstRow: number, numTokens: number) => Promise<boolean>,
): Promise<void> {
  let row = 0;
  while (row < numRows) {
    // What lies before the next row: what was not computed yet, or lost its blocks to another session meanwhile.
    await computeUncached(loop, sequence, { signal, chunkTokens, upTo: start + row });
    const numTokens = Math.min(numRows - row, chunkTokens, maxOutputRows);
    const hasRun = await run(row, numTokens);
    if (hasRun) row += numTokens;
  }
}
