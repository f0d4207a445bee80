import { InvalidArgumentError } from '@hearth/core';

interface Range {
  readonly least: number;
  readonly most: number;
  readonly fallback: number;
}

/** A whole number from `least` to `most`, or the default when it is undefined. Anything else throws. */
export function integerOption(name: string, value: unknown, { least, most, fallback }: Range): number {
  if (value === undefined) return fallback;
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw invalidOption(name, `a whole number from ${least} to ${most}`, value);
}

/** A number from `least` to `most`, or the default when it is undefined. Anything else throws. */
export function numberOption(name: string, value: unknown, { least, most, fallback }: Range): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw invalidOption(name, `a number from ${least} to ${most}`, value);
}

/** The error for one option: its name, what it takes, what came. The same three are in `details`. */
export function invalidOption(name: string, expected: string, received: unknown): InvalidArgumentError {
  const shown = typeof received === 'string' ? JSON.stringify(received.slice(0, 40)) : String(received);
  return new InvalidArgumentError(`${name} must be ${expected}, got ${shown}.`, {
    details: { field: name, expected, received },
  });
}
