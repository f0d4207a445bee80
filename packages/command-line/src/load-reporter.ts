import { printable } from './terminal/format.ts';
import { byteProgress, type Progress } from './terminal/progress.ts';

/** Where is said what loading does: a terminal, a log. */
export interface LoadReporter {
  /** One sentence, as it came: it may hold control characters of a file. */
  say(sentence: string): void;
  /** Shows how far something has come, in bytes. */
  progress(label: string): Progress;
}

/** On standard error. */
export const terminalReporter: LoadReporter = {
  say: (sentence) => void process.stderr.write(`${printable(sentence)}\n`),
  progress: byteProgress,
};
