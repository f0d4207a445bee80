#!/usr/bin/env node
import { endQuietlyOnClosedPipe, interruptSignal, reportError } from '@hearth/command-line';
import { serverProgram } from './serve-command.ts';

endQuietlyOnClosedPipe();
const signal = interruptSignal();

try {
  await serverProgram(signal).parseAsync();
} catch (error) {
  process.exitCode = reportError(error, signal);
}
