import type { TensorToWrite } from '@hearth/checkpoint';
import { f32ToF16 } from '@hearth/core';
import { LinearCongruential, type PlainTensor } from './random-tensors.ts';

// Layers as AWQ, GPTQ and fp8 checkpoints keep them, with random codes: the matrices [rows, columns] of a model's layers become
// several tensors each. Written from the definitions of the formats, apart from the reader.

export type SafetensorsMethod = 'fp8' | 'awq' | 'gptq' | 'gptq-act-order';

const groupSize = 128;

/** `quantization_config` of each method. */
export const quantizationConfigs: Readonly<Record<SafetensorsMethod, Readonly<Record<string, unknown>>>> = {
  fp8: { quant_method: 'fp8', fmt: 'e4m3', activation_scheme: 'dynamic', weight_block_size: [128, 128] },
  awq: { quant_method: 'awq', version: 'gemm', bits: 4, group_size: groupSize, zero_point: true },
  gptq: { quant_method: 'gptq', bits: 4, group_size: groupSize, desc_act: false, sym: false },
  'gptq-act-order': { quant_method: 'gptq', bits: 4, group_size: groupSize, desc_act: true, sym: false },
};

/** The tensors of one matrix in the given form. */
export function quantizedTensors(method: SafetensorsMethod, { name, shape }: PlainTensor): TensorToWrite[] {
  const [rows, columns] = shape as [number, number];
  const module = name.replace(/\.weight$/, '');
  const random = new LinearCongruential(rows * 31 + columns);
  if (method === 'fp8') return fp8Tensors(module, rows, columns, random);
  // Codes are uniform over 16 neighbours (standard deviation 4.6).
  const scale = 1 / Math.sqrt(columns) / 4.6;
  const numGroups = columns / groupSize;
  const scales = new Uint16Array(numGroups * rows).map(() => f32ToF16(scale * (1 + 0.2 * random.uniform())));
  const code = () => random.next() >>> 28;
  // 7 or 8, around the mean of the codes; GPTQ stores one less.
  const zero = () => (method === 'awq' ? 7 : 6) + (random.next() >>> 31);
  const tensor = (suffix: string, dtype: string, ...of: [readonly number[], Uint8Array | Int32Array | Uint16Array]) => {
    const [tensorShape, values] = of;
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    return { name: `${module}.${suffix}`, dtype, shape: tensorShape, data: () => bytes };
  };
  if (method === 'awq') {
    // Eight neighbouring outputs share a word; this is the order of their nibbles.
    const order = [0, 2, 4, 6, 1, 3, 5, 7];
    const interleaved = (make: () => number) => {
      const codes = Array.from({ length: 8 }, make);
      return order.reduce((word, output, nibble) => word | (codes[output]! << (4 * nibble)), 0);
    };
    return [
      tensor(
        'qweight',
        'i32',
        [columns, rows / 8],
        new Int32Array(columns * (rows / 8)).map(() => interleaved(code)),
      ),
      tensor(
        'qzeros',
        'i32',
        [numGroups, rows / 8],
        new Int32Array(numGroups * (rows / 8)).map(() => interleaved(zero)),
      ),
      tensor('scales', 'f16', [numGroups, rows], scales),
    ];
  }
  const packed = (make: () => number) =>
    Array.from({ length: 8 }, make).reduce((word, value, i) => word | (value << (4 * i)), 0);
  const groupOf = Int32Array.from({ length: columns }, (_, column) =>
    // Any order in which every group has its columns; 5 and the number of columns have no common factor.
    Math.floor((method === 'gptq-act-order' ? (column * 5) % columns : column) / groupSize),
  );
  return [
    tensor(
      'qweight',
      'i32',
      [columns / 8, rows],
      new Int32Array((columns / 8) * rows).map(() => packed(code)),
    ),
    tensor(
      'qzeros',
      'i32',
      [numGroups, rows / 8],
      new Int32Array(numGroups * (rows / 8)).map(() => packed(zero)),
    ),
    tensor('scales', 'f16', [numGroups, rows], scales),
    tensor('g_idx', 'i32', [columns], groupOf),
  ];
}

function fp8Tensors(module: string, rows: number, columns: number, random: LinearCongruential): TensorToWrite[] {
  // All codes but NaN, which is 0x7f and 0xff; of those the values are of the size of 100 on average.
  const codes = Uint8Array.from({ length: rows * columns }, () => {
    const byte = random.next() >>> 24;
    return (byte & 0x7f) === 0x7f ? 0x38 : byte;
  });
  const scaleShape = [Math.ceil(rows / 128), Math.ceil(columns / 128)] as const;
  const scales = Float32Array.from({ length: scaleShape[0] * scaleShape[1] }, () => {
    return ((1 + 0.2 * random.uniform()) * 0.01) / Math.sqrt(columns);
  });
  return [
    { name: `${module}.weight`, dtype: 'f8_e4m3', shape: [rows, columns], data: () => codes },
    {
      name: `${module}.weight_scale_inv`,
      dtype: 'f32',
      shape: scaleShape,
      data: () => new Uint8Array(scales.buffer),
    },
  ];
}
