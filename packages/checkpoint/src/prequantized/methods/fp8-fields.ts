import type { ConfigFields } from '../config-fields.ts';

/**
 * Rounding the activations to 8 bits is how kernels of other engines save time, not what the weights mean; Hearth takes them as
 * they are. Where the model was measured with fixed scales, a user should know.
 */
export const staticActivationsWarning =
  'The model has static scales for rounding activations to 8 bits. Hearth does not round the activations of fp8 layers, so its results are not those of engines that do.';

/**
 * [rows, columns] of a block of weights that shares a scale, written [128, 128] or "128x128"; null when the key is missing.
 * @throws UnsupportedError unless the columns are a multiple of 32, the block of `f8_e4m3`
 */
export function readBlockSize(config: ConfigFields, key: string): readonly [number, number] | null {
  const value = config.value(key);
  if (value === undefined) return null;
  const sizes = typeof value === 'string' && /^\d{1,6}x\d{1,6}$/.test(value) ? value.split('x').map(Number) : value;
  if (Array.isArray(sizes) && sizes.length === 2) {
    const [rows, columns] = sizes as [unknown, unknown];
    if (isSize(rows) && isSize(columns) && columns % 32 === 0) return [rows, columns];
  }
  return config.refuse(key, '[rows, columns] with columns a multiple of 32');
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
