import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../__fixtures__/temporary-directory.ts';
import { readTensor } from '../../tensor/read-tensor.ts';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';
import { weightSource } from '../../tensor/weight-source.ts';
import { e4m3, f32Tensor, fp8Tensor, madeUpFp8Codes, madeUpScales } from '../__fixtures__/fp8-tensors.ts';
import { opener } from '../__fixtures__/open-tensors.ts';

const { tensor, refusal, open } = opener(await temporaryDirectory());

const blocks = { quant_method: 'fp8', fmt: 'e4m3', activation_scheme: 'dynamic', weight_block_size: [128, 128] };
const perTensor = { quant_method: 'fp8', activation_scheme: 'dynamic' };
const perRow = { quant_method: 'fbgemm_fp8', activation_scale_ub: 1200 };

/** @param scaleOf the number of the scale for an element */
async function expectValues(
  made: ReturnType<typeof tensor>,
  [rows, columns]: readonly [number, number],
  scales: Float32Array,
  scaleOf: (row: number, column: number) => number,
): Promise<void> {
  expect(await made).toMatchObject({
    dtype: 'f8_e4m3',
    shape: [rows, columns],
    byteLength: ((rows * columns) / 32) * 36,
  });
  const codes = madeUpFp8Codes(rows * columns);
  const read = await readTensor(await made);
  const wrong = read.findIndex((value, i) => {
    const scale = scales[scaleOf(Math.floor(i / columns), i % columns)]!;
    return !Object.is(value, Math.fround(scale * e4m3(codes[i]!)));
  });
  expect(wrong).toBe(-1);
}

describe('the values of fp8 matrices', () => {
  it.each([
    [128, 128],
    [256, 384],
    [8, 32],
    [130, 160],
    [300, 1024],
  ])('[%i, %i] with a scale for each block of 128 x 128, the last ones cut off', async (rows, columns) => {
    const scaleShape = [Math.ceil(rows / 128), Math.ceil(columns / 128)] as const;
    const scales = madeUpScales(scaleShape[0] * scaleShape[1]);
    const members = [
      fp8Tensor('m.weight', [rows, columns], madeUpFp8Codes(rows * columns)),
      f32Tensor('m.weight_scale_inv', scaleShape, scales),
    ];
    await expectValues(tensor(members, blocks), [rows, columns], scales, (row, column) => {
      return Math.floor(row / 128) * scaleShape[1] + Math.floor(column / 128);
    });
  });

  it('with blocks of another size', async () => {
    const scales = madeUpScales(4 * 3);
    const members = [
      fp8Tensor('m.weight', [60, 96], madeUpFp8Codes(60 * 96)),
      f32Tensor('m.weight_scale_inv', [4, 3], scales),
    ];
    const config = { ...blocks, weight_block_size: [16, 32] };
    await expectValues(tensor(members, config), [60, 96], scales, (row, column) => {
      return Math.floor(row / 16) * 3 + Math.floor(column / 32);
    });
  });

  it.each([[[]], [[1]], [[1, 1]]])('with one scale of the shape %j', async (shape) => {
    const scales = madeUpScales(1);
    const members = [
      fp8Tensor('m.weight', [16, 64], madeUpFp8Codes(16 * 64)),
      f32Tensor('m.weight_scale', shape, scales),
      f32Tensor('m.input_scale', [], Float32Array.of(3)),
    ];
    await expectValues(tensor(members, perTensor), [16, 64], scales, () => 0);
  });

  it.each([[[16]], [[16, 1]]])('with scales of rows of the shape %j', async (shape) => {
    const scales = madeUpScales(16);
    const members = [
      fp8Tensor('m.weight', [16, 64], madeUpFp8Codes(16 * 64)),
      f32Tensor('m.weight_scale', shape, scales),
      f32Tensor('m.input_scale_ub', [1], Float32Array.of(1200)),
    ];
    await expectValues(tensor(members, perRow), [16, 64], scales, (row) => row);
  });

  it('with scales of bf16', async () => {
    const members: TensorToWrite[] = [
      fp8Tensor('m.weight', [8, 32], madeUpFp8Codes(8 * 32)),
      { name: 'm.weight_scale', dtype: 'bf16', shape: [], data: () => Uint8Array.of(0x20, 0x3f) },
    ];
    await expectValues(tensor(members, perTensor), [8, 32], Float32Array.of(0.625), () => 0);
  });

  it('in pieces from anywhere', async () => {
    const members = [
      fp8Tensor('m.weight', [300, 1024], madeUpFp8Codes(300 * 1024)),
      f32Tensor('m.weight_scale', [300, 1], madeUpScales(300)),
    ];
    const { file, byteLength } = weightSource(await tensor(members, perRow), {});
    const whole = await file.read(0, byteLength);
    for (const [from, to] of [
      [0, 1],
      [35, 37],
      [36, 72],
      [1000, 300_000],
      [byteLength - 5, byteLength],
      [7, 7],
    ] as const) {
      expect(Buffer.compare(await file.read(from, to - from), whole.subarray(from, to)), `${from} to ${to}`).toBe(0);
    }
  });
});

describe('an fp8 checkpoint', () => {
  const codes = fp8Tensor('m.weight', [8, 32], madeUpFp8Codes(256));
  const scale = f32Tensor('m.weight_scale', [], Float32Array.of(1));
  const head: TensorToWrite = { name: 'lm_head.weight', dtype: 'bf16', shape: [2, 2], data: () => new Uint8Array(8) };

  it('has the codes and scales of a matrix as one tensor, and the others as they are', async () => {
    const config = { ...perTensor, ignored_layers: ['lm_head'] };
    const activation = f32Tensor('m.input_scale', [], Float32Array.of(1));
    const checkpoint = await open([head, codes, scale, activation], config);
    expect([...checkpoint.tensors.keys()].sort()).toEqual(['lm_head.weight', 'm.weight']);
    expect(checkpoint.tensors.get('lm_head.weight')).toMatchObject({ dtype: 'bf16' });
    expect(checkpoint.config).toEqual({ model_type: 'llama' });
    expect(checkpoint.warnings.join()).not.toMatch(/static/);
    await checkpoint.close();
  });

  it('with static scales of activations says that they are not used', async () => {
    const checkpoint = await open([codes, scale], { ...perTensor, activation_scheme: 'static' });
    expect(checkpoint.warnings.join()).toMatch(/static scales for rounding activations/);
    await checkpoint.close();
  });

  it('is refused for members that are missing or do not fit, by name', async () => {
    const cases: [TensorToWrite[], unknown, RegExp][] = [
      [[codes], perTensor, /"m\.weight_scale" is missing/],
      [[codes], blocks, /"m\.weight_scale_inv" is missing/],
      [[scale], perTensor, /"m\.weight" is missing/],
      [[codes, scale, { ...scale, name: 'm.weight_scale_inv' }], perTensor, /two tensors of scales/],
      [
        [codes, f32Tensor('m.weight_scale_inv', [2, 1], madeUpScales(2))],
        blocks,
        /"m\.weight_scale_inv" is f32 of the shape \[2, 1\], expected f32 or bf16 or f16 of the shape \[1, 1\]/,
      ],
      [
        [codes, f32Tensor('m.weight_scale', [2], madeUpScales(2))],
        perTensor,
        /"m\.weight_scale" is f32 of the shape \[2\]/,
      ],
      [
        [{ name: 'm.weight', dtype: 'bf16', shape: [8, 32], data: () => new Uint8Array(512) }, scale],
        perTensor,
        /"m\.weight" has the type bf16, but "m\.weight_scale" belongs to a quantized matrix/,
      ],
    ];
    for (const [tensors, config, message] of cases) {
      const error = await refusal(tensors, config);
      expect(error).toBeInstanceOf(InvalidModelError);
      expect(error.message).toMatch(message);
    }
  });

  it('is refused for other floats of 8 bits and shapes without blocks', async () => {
    const cases: [TensorToWrite, RegExp][] = [
      [{ ...codes, dtype: 'f8_e5m2' }, /"m\.weight" is f8_e5m2 .* supported are matrices of f8_e4m3/],
      [{ ...codes, shape: [256] }, /"m\.weight" is f8_e4m3 of the shape \[256\]/],
      [{ ...codes, shape: [16, 16] }, /\[16, 16\]; its columns must be a multiple of 32/],
    ];
    for (const [weight, message] of cases) {
      const error = await refusal([weight, scale], perTensor);
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error.message).toMatch(message);
    }
  });

  it('names tensor and place of a NaN, and of a scale that is not finite, when it is read', async () => {
    for (const code of [0x7f, 0xff]) {
      const bytes = madeUpFp8Codes(256);
      bytes[3 * 32 + 5] = code;
      const made = await tensor([fp8Tensor('m.weight', [8, 32], bytes), scale], perTensor);
      await expect(readTensor(made)).rejects.toThrow(InvalidModelError);
      await expect(readTensor(made)).rejects.toThrow(/"m\.weight" is NaN at row 3, column 5/);
    }
    for (const bad of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const scales = f32Tensor(
        'm.weight_scale',
        [8],
        Float32Array.from({ length: 8 }, (_, i) => (i === 6 ? bad : 1)),
      );
      const made = await tensor([codes, scales], perTensor);
      await expect(readTensor(made)).rejects.toThrow(/"m\.weight_scale" has the scale .* \(number 6\)/);
    }
  });
});
