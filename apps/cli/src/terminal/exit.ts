/** Ends quietly when the reader of a pipe has gone away: `hearth generate ... | head -1` is not an error. */
export function endQuietlyOnClosedPipe(
  streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr],
): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Nobody reads any more, so there is nothing to finish and no one to tell.
      if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') process.exit(0);
      throw error;
    });
  }
}

/**
 * A signal that fires at the first Ctrl-C (or SIGTERM), so that running work stops and cleans up. The second Ctrl-C ends
 * the process at once.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (code: number) => () => {
    if (controller.signal.aborted) process.exit(code);
    process.exitCode = code;
    controller.abort();
  };
  process.on('SIGINT', interrupt(130));
  process.on('SIGTERM', interrupt(143));
  return controller.signal;
}
