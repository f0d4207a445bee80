import { median } from '../vs-llama-cpp/statistics.ts';

/** Gaps between tokens of streams before something happens and while it does, in milliseconds. */
export interface Gaps {
  /** Median of those that ended before. */
  readonly normal: number;
  /** Median of those that it fell into. */
  readonly during: number;
  readonly largest: number;
  readonly numDuring: number;
  readonly duringMs: number;
}

/**
 * @param times when each token of a stream came, [stream][token], ascending; what comes after `end` does not matter, and a
 * stream that makes nothing until then has a gap that reaches it
 * @throws Error when no stream has a gap before `begin`
 */
export function gapsAround(times: readonly (readonly number[])[], begin: number, end: number): Gaps {
  const before: number[] = [];
  const during: number[] = [];
  for (const stream of times) {
    for (const [i, from] of stream.entries()) {
      const to = stream[i + 1] ?? Math.max(from, end);
      if (to <= begin) before.push(to - from);
      else if (from < end) during.push(to - from);
    }
  }
  if (before.length === 0) throw new Error('No stream has made two tokens before: there is no normal gap.');
  return {
    normal: median(before),
    during: median(during),
    largest: Math.max(...during),
    numDuring: during.length,
    duringMs: end - begin,
  };
}
