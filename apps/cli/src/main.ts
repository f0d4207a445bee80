#!/usr/bin/env node
import { createProgram } from './program.ts';
import { reportError } from './report-error.ts';
import { endQuietlyOnClosedPipe, interruptSignal } from './terminal/exit.ts';

endQuietlyOnClosedPipe();
const signal = interruptSignal();

try {
  await createProgram(signal).parseAsync();
} catch (error) {
  process.exitCode = reportError(error, signal);
}
