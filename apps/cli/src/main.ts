#!/usr/bin/env node
import { endQuietlyOnClosedPipe, interruptSignal, reportError } from '@hearth/command-line';
import { createProgram } from './program.ts';

endQuietlyOnClosedPipe();
const signal = interruptSignal();

try {
  await createProgram(signal).parseAsync();
} catch (error) {
  process.exitCode = reportError(error, signal);
}
