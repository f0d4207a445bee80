const fround = Math.fround;

/** Lanes that a row sum is kept in: element i goes to lane i mod 8. */
export const numLanes = 8;

/** The total of a row sum: one fixed tree over its 8 lanes, so that every backend adds in the same order. */
export function sumLanes(lanes: Float32Array): number {
  const s0 = fround(lanes[0]! + lanes[4]!);
  const s1 = fround(lanes[1]! + lanes[5]!);
  const s2 = fround(lanes[2]! + lanes[6]!);
  const s3 = fround(lanes[3]! + lanes[7]!);
  const t0 = fround(s0 + s2);
  const t1 = fround(s1 + s3);
  return fround(t0 + t1);
}
