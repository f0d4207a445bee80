import { canStyle } from '@hearth/command-line';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino';
import type { Settings } from '../settings/settings.ts';
import { formatLine } from './format-line.ts';

/** A log on standard error: JSON lines for machines, one line of text an entry on a terminal. */
export function createLogger({ logLevel }: Pick<Settings, 'logLevel'>, stream = process.stderr): Logger {
  const options: LoggerOptions = {
    level: logLevel,
    // Neither the process nor the machine: whoever collects logs knows them.
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  };
  return pino(options, stream.isTTY ? textStream(stream) : stream);
}

function textStream(stream: NodeJS.WriteStream): DestinationStream {
  const styled = canStyle(stream);
  return { write: (line) => void stream.write(`${formatLine(JSON.parse(line), { styled })}\n`) };
}
