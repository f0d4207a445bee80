/**
 * How the codes of 32 consecutive elements lie in packed tiles. A plane holds some of the bits of every code, in the order
 * in which a processor takes them apart: 4 consecutive bytes give, after one shift and one mask, 4 consecutive elements.
 */
export type Plane = (codes: Uint8Array) => Uint8Array;

/** Bits 0 … 3 of each code, 16 bytes: byte j holds element j in its low nibble and element 16 + j in its high one. */
export const nibblePlane: Plane = (codes) =>
  Uint8Array.from({ length: 16 }, (_, j) => (codes[j]! & 15) | ((codes[16 + j]! & 15) << 4));

/** Two bits of each code from bit `shift` on, 8 bytes: bits 2p, 2p + 1 of byte j are of element 8p + j. */
export function twoBitPlane(shift: number): Plane {
  return (codes) =>
    Uint8Array.from({ length: 8 }, (_, j) => {
      let byte = 0;
      for (let p = 0; p < 4; p++) byte |= ((codes[8 * p + j]! >> shift) & 3) << (2 * p);
      return byte;
    });
}

/** Bit `shift` of each code, 4 bytes: bit p of byte j is of element 4p + j. */
export function oneBitPlane(shift: number): Plane {
  return (codes) =>
    Uint8Array.from({ length: 4 }, (_, j) => {
      let byte = 0;
      for (let p = 0; p < 8; p++) byte |= ((codes[4 * p + j]! >> shift) & 1) << p;
      return byte;
    });
}
