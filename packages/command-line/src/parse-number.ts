import { UsageError } from './usage-error.ts';

/** @throws UsageError for anything that is not a number in decimal notation */
export function parseNumber(text: string, flag: string): number {
  const value = Number(text);
  // Number() alone would also read blanks, 0x10 and Infinity.
  const isDecimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
  if (!isDecimal) throw new UsageError(`${flag} takes a number, got "${text}".`);
  return value;
}

/** @throws UsageError for anything that is not a whole number from `least` */
export function parseWhole(text: string, flag: string, least: number): number {
  const value = parseNumber(text, flag);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new UsageError(`${flag} takes a whole number from ${least}, got "${text}".`);
  }
  return value;
}
