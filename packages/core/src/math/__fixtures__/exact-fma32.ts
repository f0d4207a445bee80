/** All finite floats are integer multiples of 2^-149, their products of 2^-298. */
const PRODUCT_EXPONENT = 298;

/** `a * b + c` of finite floats in exact integer arithmetic, rounded once to f32. The oracle of `fma32`. */
export function exactFma32(a: number, b: number, c: number): number {
  const exact = toInteger(a) * toInteger(b) + (toInteger(c) << 149n);
  // An exact zero takes its sign from double arithmetic, which is exact here too: only zeros or full cancellation.
  if (exact === 0n) return a * b === 0 ? a * b + c : 0;
  const magnitude = exact < 0n ? -exact : exact;
  const rounded = roundToFloat(magnitude);
  return exact < 0n ? -rounded : rounded;
}

/** The float times 2^149. */
function toInteger(value: number): bigint {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  const exponent = (bits >>> 23) & 0xff;
  const fraction = BigInt(bits & 0x7fffff);
  const magnitude = exponent === 0 ? fraction : (fraction + 0x800000n) << BigInt(exponent - 1);
  return bits >>> 31 ? -magnitude : magnitude;
}

/** Rounds a positive multiple of 2^-298 to the nearest float, ties to even. */
function roundToFloat(multiple: bigint): number {
  const bitLength = multiple.toString(2).length;
  // 24 bits are kept, but none below 2^-149
  const dropped = Math.max(bitLength - 24, PRODUCT_EXPONENT - 149);
  const unit = 1n << BigInt(dropped);
  let kept = multiple / unit;
  const twiceRest = (multiple % unit) * 2n;
  if (twiceRest > unit || (twiceRest === unit && kept % 2n === 1n)) kept += 1n;
  // kept <= 2^24 and the scale is a power of two that a double holds: exact, up to overflow
  return Math.fround(Number(kept) * 2 ** (dropped - PRODUCT_EXPONENT));
}
