import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../__fixtures__/temporary-directory.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';
import { readTensor } from '../../tensor/read-tensor.ts';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';
import { weightSource } from '../../tensor/weight-source.ts';
import {
  awqTensors,
  dealtOut,
  gptqTensors,
  type Int4Codes,
  i32Tensor,
  madeUpCodes,
  plainValues,
} from '../__fixtures__/int4-tensors.ts';
import { opener } from '../__fixtures__/open-tensors.ts';

const { tensor, refusal, open, folder } = opener(await temporaryDirectory());

const awq = (group_size: number) => ({ quant_method: 'awq', version: 'gemm', bits: 4, group_size, zero_point: true });
const gptq = (group_size: number, more: Record<string, unknown> = {}) => {
  return { quant_method: 'gptq', bits: 4, group_size, desc_act: false, sym: false, ...more };
};
const actOrder = (group_size: number) => gptq(group_size, { desc_act: true });

/** The values must be those of the codes to the bit; −0 and +0 are one value. */
async function expectValues(made: ReturnType<typeof tensor>, codes: Int4Codes): Promise<void> {
  const read = await readTensor(await made);
  const plain = plainValues(codes);
  expect(read.length).toBe(plain.length);
  expect(read.findIndex((value, i) => value !== plain[i])).toBe(-1);
}

// Rows, columns, columns of a group (−1 is the whole row), and the type that comes of it.
const shapes = [
  [8, 32, 32, 'int4_g32'],
  [24, 96, 32, 'int4_g32'],
  [40, 192, 64, 'int4_g32'],
  [16, 256, 128, 'int4_g128'],
  [136, 384, 128, 'int4_g128'],
  [16, 512, 256, 'int4_g128'],
  [24, 160, -1, 'int4_g32'],
  [24, 384, -1, 'int4_g128'],
] as const;

describe('the values of', () => {
  it.each(shapes)('AWQ [%i, %i] in groups of %i', async (rows, columns, group, dtype) => {
    const codes = madeUpCodes(rows, columns, group === -1 ? columns : group);
    const made = tensor(awqTensors('m', codes), awq(group));
    expect(await made).toMatchObject({ name: 'm.weight', storedName: 'm.qweight', dtype, shape: [rows, columns] });
    await expectValues(made, codes);
  });

  it.each(shapes)('GPTQ [%i, %i] in groups of %i, of both versions', async (rows, columns, group, dtype) => {
    const codes = madeUpCodes(rows, columns, group === -1 ? columns : group);
    const made = tensor(gptqTensors('m', codes), gptq(group));
    expect(await made).toMatchObject({ name: 'm.weight', storedName: 'm.qweight', dtype, shape: [rows, columns] });
    expect(await made).not.toHaveProperty('columnOrder');
    await expectValues(made, codes);
    await expectValues(
      tensor(gptqTensors('m', codes, { version: 2 }), gptq(group, { checkpoint_format: 'gptq_v2' })),
      codes,
    );
  });

  it.each(shapes)('GPTQ [%i, %i] in groups of %i with act-order', async (rows, columns, group, dtype) => {
    const size = group === -1 ? columns : group;
    const codes = madeUpCodes(rows, columns, size, dealtOut(columns, size));
    const made = tensor(gptqTensors('m', codes), actOrder(group));
    const { columnOrder, ...others } = await made;
    expect(others).toMatchObject({ dtype, shape: [rows, columns] });
    // Column p of the file is in group p div size, and columns of a group ascend.
    const expected = Array.from({ length: columns }, (_, column) => column).sort(
      (a, b) => codes.groupOf(a) - codes.groupOf(b) || a - b,
    );
    expect(columnOrder && [...columnOrder]).toEqual(columns === size ? undefined : expected);
    await expectValues(made, codes);
  });

  it('GPTQ whose last group is shorter, in order and not', async () => {
    const inOrder = madeUpCodes(16, 320, 128);
    await expectValues(tensor(gptqTensors('m', inOrder), gptq(128)), inOrder);
    // 64 columns of group 2 come first.
    const moved = madeUpCodes(16, 320, 128, (column) => (column < 64 ? 2 : Math.floor((column - 64) / 128)));
    await expectValues(tensor(gptqTensors('m', moved), actOrder(128)), moved);
  });

  it('GPTQ of version 1 whose zero point 0 is stored as 15', async () => {
    const codes = { ...madeUpCodes(8, 32, 32), zero: () => 0 };
    await expectValues(tensor(gptqTensors('m', codes), gptq(32)), codes);
  });

  it('GPTQ without g_idx, and with bf16 scales', async () => {
    const codes = madeUpCodes(16, 64, 32);
    const members = gptqTensors('m', codes, { scalesAs: 'bf16' }).filter(({ name }) => name !== 'm.g_idx');
    await expectValues(tensor(members, gptq(32)), codes);
  });
});

describe('a checkpoint with AWQ or GPTQ matrices', () => {
  const codes = madeUpCodes(16, 64, 32, dealtOut(64, 32));
  const bias: TensorToWrite = { name: 'm.bias', dtype: 'f32', shape: [16], data: () => new Uint8Array(64) };
  const norm: TensorToWrite = { name: 'norm.weight', dtype: 'f32', shape: [2], data: () => new Uint8Array(8) };

  it('has one tensor for the members of a matrix, and the others as they are', async () => {
    const checkpoint = await open([norm, ...gptqTensors('m', codes), bias, ...gptqTensors('n', codes)], actOrder(32));
    expect([...checkpoint.tensors.keys()].sort()).toEqual(['m.bias', 'm.weight', 'n.weight', 'norm.weight']);
    expect(checkpoint.config).toEqual({ model_type: 'llama' });
    const source = weightSource(checkpoint.tensors.get('m.weight')!, {});
    expect(source).toMatchObject({ dtype: 'int4_g32', shape: [16, 64], byteLength: 16 * 2 * 20 });
    expect(source.columnOrder?.slice(0, 3)).toEqual(Uint32Array.of(0, 2, 4));
    await checkpoint.close();
    await expect(readTensor(checkpoint.tensors.get('n.weight')!)).rejects.toThrow(/disposed/);
  });

  it.each(['in order', 'in act-order'])('has Conv1D layers of GPT-2 the other way round, %s', async (order) => {
    const isActOrder = order === 'in act-order';
    const made = isActOrder ? codes : madeUpCodes(16, 64, 32);
    const quantization_config = gptq(32, { desc_act: isActOrder });
    const members = gptqTensors('transformer.h.0.mlp.c_fc', made);
    const checkpoint = await openCheckpoint(await folder(members, { model_type: 'gpt2', quantization_config }));
    const matrix = checkpoint.tensors.get('transformer.h.0.mlp.c_fc.weight')!;
    expect(matrix).toMatchObject({ shape: [64, 16], transposed: true });
    const [read, plain] = [await readTensor(matrix), plainValues(made)];
    expect(read.findIndex((value, i) => value !== plain[(i % 16) * 64 + Math.floor(i / 16)])).toBe(-1);
    const source = weightSource(matrix, { transposed: true });
    expect(source).toMatchObject({ dtype: 'int4_g32', shape: [16, 64] });
    expect(source.columnOrder !== undefined).toBe(isActOrder);
    await checkpoint.close();
  });
});

describe('members that do not fit together', () => {
  const codes = madeUpCodes(16, 64, 32, dealtOut(64, 32));
  const members = gptqTensors('m', codes);
  const replaced = (name: string, ...by: TensorToWrite[]) => [
    ...members.filter((member) => member.name !== `m.${name}`),
    ...by,
  ];
  const zeros = (name: string, shape: readonly [number, number]) => i32Tensor(`m.${name}`, shape, () => 0);
  const f32Scales: TensorToWrite = { name: 'm.scales', dtype: 'f32', shape: [2, 16], data: () => new Uint8Array(128) };
  const gIdx = (group: (column: number) => number, columns = 64) => {
    return { ...i32Tensor('m.g_idx', [1, columns], (_, column) => group(column)), shape: [columns] };
  };

  it.each(['qweight', 'qzeros', 'scales', 'g_idx'])('are refused without %s, which is named', async (name) => {
    const error = await refusal(replaced(name), actOrder(32));
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(error.message).toMatch(`Tensor "m.${name}" is missing`);
    expect(error.message).toContain('model.safetensors');
  });

  const cases: [string, TensorToWrite[], RegExp][] = [
    [
      'qzeros of more groups',
      replaced('qzeros', zeros('qzeros', [3, 2])),
      /"m\.qzeros" is i32 of the shape \[3, 2\], expected i32 of the shape \[2, 2\]/,
    ],
    ['qzeros of fewer rows', replaced('qzeros', zeros('qzeros', [2, 1])), /"m\.qzeros" is i32 of the shape \[2, 1\]/],
    [
      'scales of f32',
      replaced('scales', f32Scales),
      /"m\.scales" is f32 .* expected f16 or bf16 of the shape \[2, 16\]/,
    ],
    [
      'codes of one dimension',
      replaced('qweight', { ...zeros('qweight', [1, 128]), shape: [128] }),
      /"m\.qweight" is i32 of the shape \[128\]/,
    ],
    ['no codes', replaced('qweight', zeros('qweight', [0, 16])), /"m\.qweight" is i32 of the shape \[0, 16\]/],
    [
      'g_idx of fewer columns',
      replaced(
        'g_idx',
        gIdx(() => 0, 32),
      ),
      /"m\.g_idx" is i32 of the shape \[32\]/,
    ],
    [
      'a group that is not there',
      replaced(
        'g_idx',
        gIdx((column) => (column === 5 ? 2 : column % 2)),
      ),
      /"m\.g_idx" puts column 5 into group 2, but there are 2 groups/,
    ],
    [
      'a group below 0',
      replaced(
        'g_idx',
        gIdx((column) => (column === 5 ? -1 : column % 2)),
      ),
      /"m\.g_idx" puts column 5 into group -1/,
    ],
    [
      'a group with too many columns',
      replaced(
        'g_idx',
        gIdx((column) => (column === 1 ? 0 : column % 2)),
      ),
      /"m\.g_idx" puts more than 32 columns into group 0/,
    ],
    [
      'the matrix in plain floats beside it',
      [...members, { name: 'm.weight', dtype: 'f16', shape: [16, 64], data: () => new Uint8Array(2048) }],
      /"m\.weight" has the type f16, but "m\.\w+" belongs to a quantized matrix/,
    ],
  ];
  it.each(cases)('are refused for %s', async (_, tensors, message) => {
    const error = await refusal(tensors, actOrder(32));
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(error.message).toMatch(message);
  });

  it('are refused by shape where Hearth has no blocks for them', async () => {
    const odd: [TensorToWrite[], unknown, RegExp][] = [
      [
        gptqTensors('m', madeUpCodes(8, 48, 48)),
        gptq(-1),
        /"m\.weight" is \[8, 48\] .* columns must be a multiple of 32/,
      ],
      [
        [zeros('qweight', [4, 12]), zeros('qzeros', [1, 1]), zeros('scales', [1, 12])],
        gptq(32),
        /"m\.weight" is \[12, 32\] .* rows must be a multiple of 8/,
      ],
      [awqTensors('m', madeUpCodes(8, 96, 64)), awq(64), /columns must be a multiple of group_size 64/],
    ];
    for (const [tensors, config, message] of odd) {
      const error = await refusal(tensors, config);
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error.message).toMatch(message);
    }
  });

  it('are refused when only one of weights and config.json is quantized', async () => {
    expect((await refusal(members, undefined)).message).toMatch(/"m\.\w+" .* config\.json has no quantization_config/);
    const plain: TensorToWrite = { name: 'a.weight', dtype: 'f32', shape: [2], data: () => new Uint8Array(8) };
    expect((await refusal([plain], gptq(32))).message).toMatch(/no tensor is quantized/);
  });
});

describe('values that make no sense', () => {
  const expectUnreadable = async (tensors: TensorToWrite[], config: unknown, message: RegExp) => {
    const made = await tensor(tensors, config);
    await expect(readTensor(made)).rejects.toThrow(InvalidModelError);
    await expect(readTensor(made)).rejects.toThrow(message);
  };

  it.each([
    ['infinity', Number.POSITIVE_INFINITY],
    ['NaN', Number.NaN],
  ])('are refused for a scale that is %s, by tensor and place', async (_, bad) => {
    const good = madeUpCodes(16, 64, 32);
    const codes = { ...good, scale: (row: number, group: number) => (row === 9 && group === 1 ? bad : 1) };
    await expectUnreadable(gptqTensors('m', codes), gptq(32), /"m\.scales" .* not finite \(group 1, row 9\)/);
    await expectUnreadable(awqTensors('m', codes), awq(32), /"m\.scales" .* not finite \(group 1, row 9\)/);
  });

  it('are refused for a bf16 scale that f16 does not have', async () => {
    const codes = { ...madeUpCodes(8, 32, 32), scale: () => 2 ** -30 };
    const members = gptqTensors('m', codes, { scalesAs: 'bf16' });
    await expectUnreadable(members, gptq(32), /"m\.scales" .* not exact in f16 \(group 0, row 0\)/);
    const huge = { ...codes, scale: () => 2 ** 20 };
    await expectUnreadable(
      gptqTensors('m', huge, { scalesAs: 'bf16' }),
      gptq(32),
      /1048576, which is not exact in f16/,
    );
  });

  it('are refused for zero points of gptq_v2 in a symmetric checkpoint that says it is gptq', async () => {
    const codes = { ...madeUpCodes(8, 32, 32), zero: () => 8 };
    const symmetric = { sym: true };
    await expectValues(tensor(gptqTensors('m', codes), gptq(32, symmetric)), codes);
    await expectUnreadable(
      gptqTensors('m', codes, { version: 2 }),
      gptq(32, symmetric),
      /"m\.qzeros" holds 8 throughout.* gptq_v2/,
    );
  });
});
