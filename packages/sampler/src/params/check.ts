import { InvalidArgumentError } from '@hearth/core';

/** Longest piece of a caller's text that an error message repeats. */
const MAX_SHOWN_LENGTH = 40;

/** A value as an error message shows it: short, and telling "1" from 1 and 1n. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string': {
      const shown = value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value;
      return `the string ${JSON.stringify(shown)}`;
    }
    case 'bigint': {
      const digits = value.toString();
      return digits.length > MAX_SHOWN_LENGTH ? `a bigint of ${digits.length} digits` : `${digits}n`;
    }
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? 'an array' : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

/** The error for one field: its name, what it takes, what came. The same three are in `details`. */
export function invalidField(field: string, expected: string, received: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${field} must be ${expected}, but got ${describeValue(received)}.`, {
    details: { field, expected, received },
  });
}

/** A finite number from `least` to `most`, or the default when it is undefined. Anything else throws. */
export function numberInRange(
  field: string,
  value: unknown,
  { least, most, fallback }: { least: number; most: number; fallback: number },
): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && Number.isFinite(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_VALUE ? `of at least ${least}` : `from ${least} to ${most}`;
  throw invalidField(field, `a finite number ${range}`, value);
}

/** An integer from `least` to `most`, or the default when it is undefined. Anything else throws. */
export function integerInRange<Fallback extends number | undefined>(
  field: string,
  value: unknown,
  { least, most, fallback }: { least: number; most: number; fallback: Fallback },
): number | Fallback {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw invalidField(field, `an integer ${range}`, value);
}
