import type { WriteStream } from 'node:tty';

/** Wraps text in terminal styles, or returns it as it is. */
export interface Styles {
  bold(text: string): string;
  dim(text: string): string;
  cyan(text: string): string;
  red(text: string): string;
}

/**
 * Whether escape codes may be written to a stream: it is a terminal, `NO_COLOR` is unset or empty (no-color.org) and the
 * terminal is not `dumb`.
 */
export function canStyle(stream: Pick<WriteStream, 'isTTY'>, environment: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
}

export function stylesFor(stream: Pick<WriteStream, 'isTTY'>, environment: NodeJS.ProcessEnv = process.env): Styles {
  const wrap = canStyle(stream, environment)
    ? (open: number, close: number) => (text: string) => `\u001b[${open}m${text}\u001b[${close}m`
    : () => (text: string) => text;
  return { bold: wrap(1, 22), dim: wrap(2, 22), cyan: wrap(36, 39), red: wrap(31, 39) };
}
