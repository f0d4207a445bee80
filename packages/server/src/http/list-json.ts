import { setImmediate } from 'node:timers/promises';

/** Some milliseconds of work. */
const sliceLength = 20_000;

/**
 * JSON of a list that may be very long: of a few million tokens, for one. Others get their turn between slices of it.
 * @throws the reason of the signal
 */
export async function listJson(
  items: ArrayLike<number>,
  write: (item: number) => unknown,
  signal: AbortSignal,
): Promise<string> {
  const slices: string[] = [];
  for (let start = 0; start < items.length; start += sliceLength) {
    if (start > 0) await setImmediate();
    signal.throwIfAborted();
    const slice = Array.prototype.slice.call(items, start, start + sliceLength);
    slices.push(JSON.stringify(slice.map(write)).slice(1, -1));
  }
  return `[${slices.join(',')}]`;
}
