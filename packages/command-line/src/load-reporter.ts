import { printable } from './terminal/format.ts';
import { byteProgress, type Progress } from './terminal/progress.ts';

/** Where is said what loading does: a terminal, a log. */
export interface LoadReporter {
  /** One sentence, as it came: it may hold control characters of a file. */
  say(sentence: string): void;
  /** A sentence about something that is not as it should be. */
  warn(sentence: string): void;
  /** Shows how far something has come, in bytes. */
  progress(label: string): Progress;
}

/** On standard error. */
export const terminalReporter: LoadReporter = { say: writeLine, warn: writeLine, progress: byteProgress };

function writeLine(sentence: string): void {
  process.stderr.write(`${printable(sentence)}\n`);
}
