import { InvalidArgumentError } from '@hearth/core';
import { rowLogprobs, type TokenLogprob } from '@hearth/sampler';
import type { TaskLoop } from '../step/task-loop.ts';
import { RowsTask } from './rows-task.ts';
import type { Sequence } from './sequence.ts';

/** What rows of logits are reduced to when only one token of each counts. */
export interface RowScores {
  /** Log-probability of the row's target, [rows]. */
  readonly logprobs: Float32Array;
  /** The most likely token, the lower id where two are equal, [rows]. */
  readonly argmax: Int32Array;
  /** The most likely tokens in the place of each, best first: what a generation's `topLogprobs` would say. When asked for. */
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
}

export interface ScoreOptions {
  /** How many of the most likely tokens to name in the place of each token, 0 to 20. Default: none. */
  readonly topLogprobs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** As many as generations may ask for. */
const mostTopLogprobs = 20;

/** @throws InvalidArgumentError */
export function checkTopLogprobs(topLogprobs: number | undefined): void {
  const isCount = Number.isInteger(topLogprobs) && topLogprobs! >= 0 && topLogprobs! <= mostTopLogprobs;
  if (topLogprobs === undefined || isCount) return;
  throw new InvalidArgumentError(
    `topLogprobs must be a whole number from 0 to ${mostTopLogprobs}, got ${String(topLogprobs)}.`,
    { details: { field: 'topLogprobs', received: topLogprobs } },
  );
}

/**
 * Appends tokens and computes the logits after each of them, [tokenIds.length, vocabSize]. When it rejects, the sequence is
 * as long as before.
 */
export async function forwardTokens(
  { loop, vocabSize }: { readonly loop: TaskLoop; readonly vocabSize: number },
  sequence: Sequence,
  tokenIds: ArrayLike<number>,
  signal: AbortSignal,
): Promise<Float32Array> {
  const logits = new Float32Array(tokenIds.length * vocabSize);
  const from = sequence.length;
  await appending(sequence, tokenIds, () => {
    const task = new RowsTask({
      sequence,
      from,
      numRows: tokenIds.length,
      rowOutput: () => ({ kind: 'logits' }),
      onRow: (index, rows, row) => logits.set(rows.logits(row), index * vocabSize),
    });
    return loop.run(task, signal);
  });
  return logits;
}

/**
 * Appends tokens and computes the log-probability of each given everything before it, and the most likely token in its
 * place. The sequence holds at least one token before. When it rejects, it is as long as before.
 */
export async function scoreTokens(
  { loop }: { readonly loop: TaskLoop },
  sequence: Sequence,
  tokenIds: Int32Array,
  { topLogprobs: numTop, signal }: { readonly topLogprobs: number | undefined; readonly signal: AbortSignal },
): Promise<RowScores> {
  const topLogprobs: (readonly TokenLogprob[])[] = [];
  const scores = { logprobs: new Float32Array(tokenIds.length), argmax: new Int32Array(tokenIds.length) };
  // The row that predicts a token is that of the token before it. The last token predicts nothing that is asked for, and its
  // row is left out: it is computed by the next call that needs it.
  const from = sequence.length - 1;
  await appending(sequence, tokenIds, () => {
    const task = new RowsTask({
      sequence,
      from,
      numRows: tokenIds.length,
      // The backend says no more of a row than of one token and the best.
      rowOutput: (index) => (numTop ? { kind: 'logits' } : { kind: 'logprob', tokenId: tokenIds[index]! }),
      onRow: (index, rows, row) => {
        const { logprob, argmax, top } = numTop
          ? scoreRow(rows.logits(row), tokenIds[index]!, numTop)
          : { ...rows.score(row), top: [] };
        scores.logprobs[index] = logprob;
        scores.argmax[index] = argmax;
        topLogprobs.push(top);
      },
    });
    return loop.run(task, signal);
  });
  return numTop === undefined ? scores : { ...scores, topLogprobs };
}

function scoreRow(logits: Float32Array, tokenId: number, numTop: number) {
  const { logprob, topLogprobs } = rowLogprobs(logits, tokenId, numTop);
  return { logprob, argmax: topLogprobs[0]!.tokenId, top: topLogprobs };
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
