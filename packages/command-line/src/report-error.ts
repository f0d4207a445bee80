import { HearthError } from '@hearth/core';
import { CommanderError } from 'commander';
import { printable } from './terminal/format.ts';
import { stylesFor } from './terminal/styles.ts';

/** Exit codes: 1 the work failed, 2 the command line makes no sense, 130 and 143 ended by a signal. */
const failed = 1;
const usage = 2;

/** A full disk, a file without permission, a path that went away: no bugs, and Node's sentence names the file. */
const systemRefusals = new Set(['ENOSPC', 'EDQUOT', 'EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EISDIR', 'EIO']);

/**
 * Says on standard error what went wrong, in one sentence for expected errors and with the stack for bugs.
 * @returns the exit code
 */
export function reportError(error: unknown, signal: AbortSignal): number {
  // Commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usage;
  if (signal.aborted) return Number(process.exitCode ?? failed);
  const { red } = stylesFor(process.stderr);
  if (HearthError.isInstance(error)) {
    process.stderr.write(`${red('error:')} ${printable(error.message)}\n`);
    return error.code === 'usage' || error.code === 'invalid_argument' ? usage : failed;
  }
  if (isRefusedBySystem(error)) {
    process.stderr.write(`${red('error:')} ${printable(error.message)}\n`);
    return failed;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${red('unexpected error:')} ${printable(stack)}\nThis is a bug in Hearth; please report it.\n`);
  return failed;
}

function isRefusedBySystem(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || !('syscall' in error)) return false;
  return systemRefusals.has(String((error as NodeJS.ErrnoException).code));
}
