/**
 * The value of an option `--NAME` that is a number from 1 on.
 * @throws Error that names the option
 */
export function atLeastOne(name: string, text: string): number {
  const value = Number(text);
  if (value >= 1) return value;
  throw new Error(`--${name} must be at least 1, got ${text}.`);
}

/** The same for a whole number. */
export function countFrom(name: string, text: string): number {
  const value = atLeastOne(name, text);
  if (Number.isInteger(value)) return value;
  throw new Error(`--${name} must be a whole number, got ${text}.`);
}
