import type { Logger } from '../logger.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps what is written to it and to its children, in order. */
export function recordingLogger(): { readonly logger: Logger; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const create = (bound: Readonly<Record<string, unknown>>): Logger => {
    const write = (level: LogLine['level']) => (fields: Readonly<Record<string, unknown>>, message: string) =>
      void lines.push({ level, message, fields: { ...bound, ...fields } });
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (fields) => create({ ...bound, ...fields }),
    };
  };
  return { logger: create({}), lines };
}
