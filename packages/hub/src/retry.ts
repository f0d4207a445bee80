import { setTimeout as sleep } from 'node:timers/promises';
import { AbortError } from '@hearth/core';
import { DownloadError } from './errors.ts';
import type { RetryPolicy } from './settings.ts';

/** Longest wait between two attempts: a server that asks for more is left for another day. */
const MAX_DELAY_MS = 15_000;

/**
 * Waits before attempt `attempt + 1` (the first retry has `attempt` 1): the base delay doubled each time, plus up to a
 * quarter at random so that many clients of one server do not come back in step.
 */
export async function waitBeforeRetry(
  attempt: number,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
): Promise<void> {
  const delay = Math.min(policy.baseDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS);
  try {
    await sleep(delay * (1 + Math.random() / 4), undefined, signal ? { signal } : {});
  } catch {
    throw new AbortError(undefined, { cause: signal?.reason });
  }
}

/**
 * Repeats a short request while it fails in a way that may pass. A host that cannot be reached is not asked twice:
 * another source may be waiting.
 */
export async function retrying<T>(
  request: () => Promise<T>,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      const mayPass = error instanceof DownloadError && error.transient && !error.unreachable;
      if (!mayPass || attempt >= policy.attempts) throw error;
      await waitBeforeRetry(attempt, policy, signal);
    }
  }
}
