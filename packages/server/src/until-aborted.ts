/**
 * Waits for a promise, but no longer than until the signal fires. The work behind it goes on; what becomes of it then is
 * nobody's concern.
 *
 * @throws the reason of the signal
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
