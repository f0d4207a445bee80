const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

/** The value rounded to f32, with the largest finite float in place of an infinity: a penalty may not ban or force a token. */
export function clampToFloat(value: number): number {
  return Math.fround(Math.min(LARGEST_FLOAT, Math.max(-LARGEST_FLOAT, value)));
}
