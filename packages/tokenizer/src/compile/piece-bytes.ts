import type { DecoderPlan } from '../read/decoder-plan.ts';
import { bytesOfLetters } from './byte-letters.ts';

const encoder = new TextEncoder();

/** `<0x0A>` to 10; anything else to `undefined`. */
export function fallbackByte(piece: string): number | undefined {
  const digits = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

/**
 * Bytes of text that a piece stands for. `isAdded` marks added tokens: in byte-letter models they are literal text, so
 * that an added `café` is not taken for the byte 0xE9.
 */
export function bytesOfPiece(piece: string, isAdded: boolean, plan: DecoderPlan): Uint8Array {
  if (plan.alphabet === 'byte-letters') {
    return (isAdded ? undefined : bytesOfLetters(piece)) ?? encoder.encode(piece);
  }
  const byte = plan.byteFallback ? fallbackByte(piece) : undefined;
  if (byte !== undefined) return new Uint8Array([byte]);
  const text = plan.replacements.reduce((sofar, { from, to }) => sofar.replaceAll(from, () => to), piece);
  return encoder.encode(plan.separator + text);
}
