import { writeSync } from 'node:fs';

/**
 * Ends quietly when the reader of a pipe has gone away: `hearth generate ... | head -1` is not an error. Any other failure
 * to write, such as a full disk, ends with one sentence and exit code 1.
 */
export function endQuietlyOnClosedPipe(
  streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr],
): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Nobody reads any more, so there is nothing to finish and no one to tell.
      if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') process.exit(0);
      // On the other stream, directly: whatever this stream holds would fail as well.
      if (stream === process.stdout) writeLastWords(`error: Standard output cannot be written: ${error.message}.`);
      process.exit(1);
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

function writeLastWords(text: string): void {
  try {
    writeSync(process.stderr.fd, `${text}\n`);
  } catch {
    // There is nowhere left to say it; the exit code has to do.
  }
}
