const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

/** IEEE 754 binary16 bits to the float of the same value (exact; NaN stays NaN). */
export function f16ToF32(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

let f16Table: Float32Array | undefined;

/** The float of each of the 65536 binary16 patterns: looking up is several times faster than taking bits apart. Made on first use. */
export function f16Values(): Float32Array {
  f16Table ??= Float32Array.from({ length: 65536 }, (_, bits) => f16ToF32(bits));
  return f16Table;
}

/** A float to binary16 bits, rounded to nearest even; magnitudes of 65520 and more become infinity, NaN becomes 0x7e00 with its sign. */
export function f32ToF16(value: number): number {
  f32[0] = value;
  const bits = u32[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // 65520 and above
  if (magnitude >= 0x38800000) {
    // Normal range (2^-14 and above): drop 13 mantissa bits, rounding half to even; a carry moves into the exponent.
    const rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1);
    return sign | (rounded >>> 13);
  }
  // Subnormal or zero: the unit is 2^-24, and adding 0.5 (ulp 2^-24) rounds to it in hardware.
  f32[0] = Math.fround(Math.abs(value) + 0.5);
  return sign | (u32[0]! - 0x3f000000);
}

/** bfloat16 bits to the float of the same value (exact). */
export function bf16ToF32(bits: number): number {
  u32[0] = bits << 16;
  return f32[0]!;
}

/** A float to bfloat16 bits, rounded to nearest even; NaN becomes 0x7fc0 with its sign. */
export function f32ToBf16(value: number): number {
  f32[0] = value;
  const bits = u32[0]!;
  if ((bits & 0x7fffffff) > 0x7f800000) return ((bits >>> 16) & 0x8000) | 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
