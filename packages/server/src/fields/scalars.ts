import { z } from 'zod';

/** A number in a range. Integers above 2^53 come as bigints and are no numbers here. */
export function numberFrom(least: number, most: number, description: string) {
  const error = `must be a number from ${least}${most < Number.MAX_VALUE ? ` to ${most}` : ''}`;
  return z.number({ error }).min(least, { error }).max(most, { error }).meta({ description }).nullish();
}

/** A whole number in a range. */
export function wholeFrom(least: number, most: number, description: string) {
  const error = `must be a whole number from ${least}${most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ''}`;
  return z.int({ error }).min(least, { error }).max(most, { error }).meta({ description }).nullish();
}

export function flag(description: string) {
  return z.boolean({ error: 'must be true or false' }).meta({ description }).nullish();
}

export function text(description: string, mostLength = 1024) {
  return z
    .string({ error: 'must be a string' })
    .max(mostLength, { error: `must have at most ${mostLength} characters` })
    .meta({ description })
    .nullish();
}
