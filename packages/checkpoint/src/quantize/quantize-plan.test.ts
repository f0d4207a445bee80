import { InvalidArgumentError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { type PlannedTensor, plannedDtypes, type QuantizePlan } from './quantize-plan.ts';
import { fittingDtype, requireStorageDtype, storageDtypes } from './storage-dtype.ts';

/** Rows of 512 fit every type, those of 96 the ones with blocks of 32, those of 80 none. */
const tensors: readonly PlannedTensor[] = [
  { name: 'model.embed_tokens.weight', shape: [1000, 512] },
  { name: 'model.layers.0.self_attn.q_proj.weight', shape: [512, 512] },
  { name: 'model.layers.0.self_attn.q_proj.bias', shape: [512] },
  { name: 'model.layers.0.self_attn.v_proj.weight', shape: [96, 512] },
  { name: 'model.layers.1.self_attn.v_proj.weight', shape: [96, 512] },
  { name: 'model.layers.0.self_attn.o_proj.weight', shape: [512, 96] },
  { name: 'model.layers.0.mlp.down_proj.weight', shape: [512, 80] },
  { name: 'model.layers.0.mlp.gate.weight', shape: [8, 512] },
  { name: 'model.layers.0.mlp.gate_proj.weight', shape: [80, 512] },
  { name: 'model.norm.weight', shape: [512] },
  { name: 'wpe.weight', shape: [128, 512] },
  { name: 'lm_head.weight', shape: [1000, 512] },
];
const planned = (plan: QuantizePlan) => Object.fromEntries(plannedDtypes(tensors, plan));

describe('plannedDtypes', () => {
  it('gives matrices the type, tables a finer one, and keeps what is small and sensitive', () => {
    expect(planned({ dtype: 'q4_k' })).toEqual({
      'model.embed_tokens.weight': 'q6_k',
      'model.layers.0.self_attn.q_proj.weight': 'q4_k',
      'model.layers.0.self_attn.q_proj.bias': 'f32',
      'model.layers.0.self_attn.v_proj.weight': 'q4_k',
      'model.layers.1.self_attn.v_proj.weight': 'q4_k',
      'model.layers.0.self_attn.o_proj.weight': 'q5_0',
      'model.layers.0.mlp.down_proj.weight': 'f16',
      'model.layers.0.mlp.gate.weight': 'f32',
      'model.layers.0.mlp.gate_proj.weight': 'q4_k',
      'model.norm.weight': 'f32',
      'wpe.weight': 'f32',
      'lm_head.weight': 'q6_k',
    });
  });

  it.each([
    ['q8_0', 'q8_0'],
    ['q4_0', 'q4_0'],
    ['bf16', 'bf16'],
    ['f32', 'f32'],
    ['iq4_nl', 'iq4_nl'],
    ['iq4_xs', 'q6_k'],
    ['q2_k', 'q6_k'],
    ['q6_k', 'q6_k'],
  ] as const)('%s: tables are %s unless the plan says otherwise', (dtype, expected) => {
    expect(planned({ dtype })['lm_head.weight']).toBe(expected);
    expect(planned({ dtype, embeddingDtype: 'f16' })['model.embed_tokens.weight']).toBe('f16');
  });

  it('lets the last rule that fits win, also over tables, and never over what is kept', () => {
    const dtypes = planned({
      dtype: 'q4_0',
      rules: [
        { pattern: '*', dtype: 'q8_0' },
        { pattern: '*.v_proj.weight', dtype: 'q6_k' },
        { pattern: 'model.layers.1.*', dtype: 'q5_k' },
        { pattern: 'lm_head.*', dtype: 'bf16' },
      ],
    });
    expect(dtypes).toMatchObject({
      'model.layers.0.self_attn.q_proj.weight': 'q8_0',
      'model.layers.0.self_attn.v_proj.weight': 'q6_k',
      'model.layers.1.self_attn.v_proj.weight': 'q5_k',
      'lm_head.weight': 'bf16',
      'model.layers.0.mlp.gate.weight': 'f32',
      'model.norm.weight': 'f32',
    });
    // A rule does not make rows fit that do not.
    const rules = [{ pattern: '*.o_proj.weight', dtype: 'q6_k' }] as const;
    expect(planned({ dtype: 'q4_0', rules })['model.layers.0.self_attn.o_proj.weight']).toBe('q8_0');
  });

  it('refuses a rule that changes nothing, and says why', () => {
    const withRule = (pattern: string) => () => planned({ dtype: 'q8_0', rules: [{ pattern, dtype: 'q4_0' }] });
    expect(withRule('*.x_proj.weight')).toThrow(InvalidArgumentError);
    expect(withRule('*.x_proj.weight')).toThrow(
      /"\*\.x_proj\.weight" fits no weight of the model\. Names are like "model\.embed/,
    );
    expect(withRule('*norm*')).toThrow(/fits only weights that stay f32 .*such as "model\.norm\.weight"/);
    expect(withRule('*.mlp.gate.weight')).toThrow(/stay f32/);
  });
});

describe('fittingDtype', () => {
  it('stands in with blocks of 32, then with f16', () => {
    const standIns = storageDtypes.map((dtype) => [dtype, fittingDtype(dtype, 576), fittingDtype(dtype, 40)]);
    expect(standIns).toEqual([
      ['f32', 'f32', 'f32'],
      ['f16', 'f16', 'f16'],
      ['bf16', 'bf16', 'bf16'],
      ['q8_0', 'q8_0', 'f16'],
      ['q4_0', 'q4_0', 'f16'],
      ['q4_1', 'q4_1', 'f16'],
      ['q5_0', 'q5_0', 'f16'],
      ['q5_1', 'q5_1', 'f16'],
      ['iq4_nl', 'iq4_nl', 'f16'],
      ['q2_k', 'iq4_nl', 'f16'],
      ['q3_k', 'iq4_nl', 'f16'],
      ['q4_k', 'q5_0', 'f16'],
      ['q5_k', 'q5_1', 'f16'],
      ['q6_k', 'q8_0', 'f16'],
      ['iq4_xs', 'iq4_nl', 'f16'],
    ]);
    for (const dtype of storageDtypes) expect(fittingDtype(dtype, 512)).toBe(dtype);
  });
});

describe('requireStorageDtype', () => {
  it('knows what is written, and lists it', () => {
    expect(requireStorageDtype('q4_k')).toBe('q4_k');
    for (const dtype of ['int4_g128', 'f8_e4m3', 'q4_k_m', 'toString', '']) {
      expect(() => requireStorageDtype(dtype)).toThrow(UnsupportedError);
    }
    expect(() => requireStorageDtype('q4_k_m')).toThrow(/cannot be written as q4_k_m\. There are f32, f16, .*iq4_xs/);
  });
});
