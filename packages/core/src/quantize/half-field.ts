import { InvalidArgumentError } from '../errors/errors.ts';
import { f16ToF32, f32ToF16 } from '../tensor/half.ts';

/**
 * Writes a scale or minimum as f16 and gives back its value as readers will see it.
 * @throws InvalidArgumentError for a value that f16 cannot hold
 */
export function writeHalf(block: DataView, at: number, value: number): number {
  const bits = f32ToF16(value);
  if ((bits & 0x7c00) === 0x7c00) {
    throw new InvalidArgumentError(
      `A block has the scale or minimum ${value}, which f16 cannot hold: its weights are far too large.`,
    );
  }
  block.setUint16(at, bits, true);
  return f16ToF32(bits);
}
