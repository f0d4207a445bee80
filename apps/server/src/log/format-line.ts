import { printable, stylesFor } from '@hearth/command-line';

/** An entry of the log, as pino writes it. */
interface Entry extends Readonly<Record<string, unknown>> {
  readonly level: string;
  /** ISO 8601. */
  readonly time: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
}

/**
 * One entry for people: the time, the level unless it is info, the message, the fields; an error with its stack below.
 * @param styled whether escape codes may be used
 */
export function formatLine({ level, time, msg = '', err, ...fields }: Entry, { styled = false } = {}): string {
  const { dim, red } = stylesFor({ isTTY: styled });
  const isAlarming = level === 'error' || level === 'fatal' || level === 'warn';
  const parts = [
    dim(new Date(time).toTimeString().slice(0, 8)),
    ...(level === 'info' ? [] : [isAlarming ? red(level) : level]),
    printable(msg),
    ...Object.entries(fields).map(([name, value]) => dim(`${name}=${textOf(value)}`)),
  ];
  const line = parts.join(' ');
  return err ? `${line}\n${printable(err.stack ?? err.message ?? '')}` : line;
}

function textOf(value: unknown): string {
  return printable(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
}
