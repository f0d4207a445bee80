const floatView = new Float32Array(1);
const bitsView = new Uint32Array(floatView.buffer);

/** The float with these 32 bits. */
export function floatOf(bits: number): number {
  bitsView[0] = bits;
  return floatView[0]!;
}

/** The 32 bits of a float; every NaN reads as the same one. */
export function bitsOf(value: number): number {
  floatView[0] = value;
  return Number.isNaN(value) ? 0x7fc00000 : bitsView[0]!;
}

/** Marsaglia's xorshift32: three lines that a C++ twin repeats. Seeds must not be 0. */
export function xorshift32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return state;
  };
}

/** Hash over the bits of `count` floats, in hexadecimal: FNV-1a over words, with a shift that spreads the high bits. */
export function hashFloats(count: number, next: (index: number) => number): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < count; i++) {
    hash = Math.imul(hash ^ bitsOf(next(i)), 0x01000193) >>> 0;
    hash = (hash ^ (hash >>> 15)) >>> 0;
  }
  return hash.toString(16).padStart(8, '0');
}

/** |got - want| in units in the last place of the float that `want` rounds to (`want` in double, not zero). */
export function ulpError(got: number, want: number): number {
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(want))) - 23, -149);
  return Math.abs(got - want) / 2 ** exponent;
}
