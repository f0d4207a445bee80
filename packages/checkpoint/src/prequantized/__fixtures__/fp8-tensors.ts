import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';

/** The float of an e4m3 code, from its bits: sign, 4 bits of exponent (bias 7), 3 of mantissa. */
export function e4m3(code: number): number {
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  const size = exponent === 0 ? (mantissa / 8) * 2 ** -6 : (1 + mantissa / 8) * 2 ** (exponent - 7);
  return code >= 128 ? -size : size;
}

/** Every code but NaN comes up. */
export function madeUpFp8Codes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => {
    const code = (i * 37 + (i >> 8) * 5) & 0xff;
    return (code & 0x7f) === 0x7f ? 0 : code;
  });
}

/** Scales with all bits of f32 in use. */
export function madeUpScales(length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => ((i % 5 === 4 ? -1 : 1) * (1 + i)) / 7000);
}

export function fp8Tensor(name: string, shape: readonly number[], codes: Uint8Array): TensorToWrite {
  return { name, dtype: 'f8_e4m3', shape, data: () => codes };
}

export function f32Tensor(name: string, shape: readonly number[], values: Float32Array): TensorToWrite {
  return { name, dtype: 'f32', shape, data: () => new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}
