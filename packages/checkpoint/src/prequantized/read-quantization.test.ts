import { type HearthError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { readQuantization } from './read-quantization.ts';

const read = (quantization_config: unknown) => readQuantization({ quantization_config }, 'x/config.json');

function refusal(config: unknown): HearthError {
  try {
    read(config);
  } catch (error) {
    return error as HearthError;
  }
  return expect.fail(`${JSON.stringify(config)} was read`);
}

/** As AutoGPTQ, GPTQModel, AutoAWQ, Qwen, AutoFP8, Meta and llm-compressor write them. */
const gptq = {
  ...{ quant_method: 'gptq', bits: 4, group_size: 128, desc_act: true, sym: true, true_sequential: true },
  ...{ damp_percent: 0.01, static_groups: false, model_name_or_path: null, model_file_base_name: 'model' },
  ...{ dataset: null, use_exllama: true, exllama_config: { version: 1 }, batch_size: 1, use_cuda_fp16: false },
};
const gptqModel = {
  ...{ quant_method: 'gptq', bits: 4, group_size: 32, desc_act: false, sym: false, checkpoint_format: 'gptq_v2' },
  ...{ dynamic: null, lm_head: false, pack_dtype: 'int32', meta: { quantizer: ['gptqmodel:4.0.0'], mse: 0 } },
};
const awq = {
  ...{ quant_method: 'awq', version: 'GEMM', bits: 4, group_size: 64, zero_point: true, backend: 'autoawq' },
  ...{ modules_to_not_convert: null, do_fuse: false },
};
const fp8 = {
  ...{ quant_method: 'fp8', fmt: 'e4m3', activation_scheme: 'dynamic', weight_block_size: [128, 128] },
  ...{ modules_to_not_convert: ['lm_head'], scale_fmt: 'ue8m0' },
};
const float8 = {
  ...{ num_bits: 8, type: 'float', strategy: 'channel', symmetric: true, dynamic: false, group_size: null },
  ...{ block_structure: null, actorder: null, observer: 'minmax', observer_kwargs: {} },
};
const group = {
  ...{ weights: float8, input_activations: { ...float8, strategy: 'token', dynamic: true, observer: null } },
  ...{ output_activations: null, targets: ['Linear'] },
};
const compressed = {
  ...{ quant_method: 'compressed-tensors', format: 'float-quantized', config_groups: { group_0: group } },
  ...{ ignore: ['lm_head', 're:.*gate$'], kv_cache_scheme: null, quantization_status: 'compressed' },
  ...{ sparsity_config: {}, transform_config: {}, version: '0.12.2', global_compression_ratio: null },
};
const withWeights = (changes: object) => {
  return { ...compressed, config_groups: { group_0: { ...group, weights: { ...float8, ...changes } } } };
};

describe('readQuantization', () => {
  it('is null without quantization_config', () => {
    expect(readQuantization({}, 'x')).toBeNull();
    expect(read(null)).toBeNull();
  });

  it('reads what the tools write', () => {
    expect(read(gptq)).toMatchObject({
      ...{ kind: 'int4', groupSize: 128, isActOrder: true },
      packing: { name: 'gptq', neighbours: 'columns', zeroOffset: 1, isSymmetric: true },
    });
    expect(read(gptqModel)).toMatchObject({
      ...{ kind: 'int4', groupSize: 32, isActOrder: false },
      packing: { name: 'gptq', zeroOffset: 0, isSymmetric: false },
    });
    expect(read(awq)).toMatchObject({
      ...{ kind: 'int4', groupSize: 64, isActOrder: false },
      packing: { name: 'awq', neighbours: 'rows', zeroOffset: 0 },
    });
    expect(read({ ...awq, group_size: -1 })).toMatchObject({ groupSize: null });
    expect(read(fp8)).toEqual({ kind: 'fp8', block: [128, 128], warnings: [] });
    expect(read({ quant_method: 'fp8', activation_scheme: 'dynamic', ignored_layers: [] })).toMatchObject({
      block: null,
    });
    const fbgemm = { quant_method: 'fbgemm_fp8', activation_scale_ub: 1200, modules_to_not_convert: ['lm_head'] };
    expect(read(fbgemm)).toEqual({ kind: 'fp8', block: null, warnings: [] });
    expect(read(compressed)).toEqual({ kind: 'fp8', block: null, warnings: [] });
    for (const block_structure of [[128, 64], '128x64']) {
      expect(read(withWeights({ strategy: 'block', block_structure }))).toMatchObject({ block: [128, 64] });
    }
  });

  it('warns of static scales of activations', () => {
    const activations = { ...group, input_activations: { ...float8, strategy: 'tensor' } };
    for (const config of [
      { quant_method: 'fp8', activation_scheme: 'static' },
      { ...compressed, config_groups: { group_0: activations } },
    ]) {
      expect(read(config)).toMatchObject({ warnings: [expect.stringMatching(/static scales/)] });
    }
  });

  it('lets unknown keys pass only where they turn nothing on', () => {
    expect(read({ ...gptq, new_idea: false, other_idea: null })).toMatchObject({ kind: 'int4' });
    expect(refusal({ ...gptq, new_idea: true }).message).toMatch(
      /quantization_config\.new_idea is true; Hearth does not/,
    );
    expect(refusal({ ...gptq, rotation: 'hadamard' }).message).toMatch(/rotation is "hadamard"/);
    expect(refusal(withWeights({ new_idea: 1 })).message).toMatch(/config_groups\.group_0\.weights\.new_idea is 1/);
    expect(refusal(JSON.parse('{"quant_method":"gptq","bits":4,"group_size":32,"__proto__":1}')).message).toMatch(
      /__proto__ is 1/,
    );
  });

  const cases: [string, object, RegExp][] = [
    [
      'nf4',
      { quant_method: 'bitsandbytes', bnb_4bit_quant_type: 'nf4' },
      /quant_method is "bitsandbytes"; supported are/,
    ],
    ['mxfp4', { quant_method: 'mxfp4' }, /quant_method is "mxfp4"/],
    ['hqq', { quant_method: 'hqq' }, /quant_method is "hqq"/],
    ['no method', { load_in_4bit: true }, /quant_method is missing; .* Its keys are load_in_4bit/],
    ['a method that objects have', { quant_method: 'toString' }, /quant_method is "toString"/],
    ['GPTQ of 2 bits', { ...gptq, bits: 2 }, /bits is 2; supported is: 4/],
    ['GPTQ of 3 bits', { ...gptq, bits: 3 }, /bits is 3/],
    ['GPTQ of 8 bits', { ...gptq, bits: 8 }, /bits is 8/],
    ['no bits', { quant_method: 'gptq', group_size: 128 }, /bits is missing/],
    ['groups of 16', { ...gptq, group_size: 16 }, /group_size is 16; supported is: a multiple of 32/],
    ['groups of 0', { ...gptq, group_size: 0 }, /group_size is 0/],
    ['groups of a word', { ...awq, group_size: '128' }, /group_size is "128"/],
    ['Marlin', { ...gptq, checkpoint_format: 'marlin' }, /checkpoint_format is "marlin"; supported is: gptq, gptq_v2/],
    ['Marlin by its flag', { ...gptq, is_marlin_format: true }, /is_marlin_format is true/],
    [
      'two formats',
      { ...gptq, checkpoint_format: 'gptq', format: 'gptq_v2' },
      /format is "gptq_v2"; supported is: gptq/,
    ],
    ['words of 16 bits', { ...gptq, pack_dtype: 'int16' }, /pack_dtype is "int16"/],
    ['modules of other forms', { ...gptq, dynamic: { 'layers.0': { bits: 8 } } }, /dynamic is \{"layers\.0"/],
    ['AWQ of 8 bits', { ...awq, bits: 8 }, /bits is 8/],
    ['AWQ for GEMV', { ...awq, version: 'gemv' }, /version is "gemv"; supported is: gemm/],
    ['AWQ of llm-awq', { ...awq, backend: 'llm-awq' }, /backend is "llm-awq"/],
    ['AWQ without zero points', { ...awq, zero_point: false }, /zero_point is false/],
    ['e5m2', { ...fp8, fmt: 'e5m2' }, /fmt is "e5m2"; supported is: e4m3/],
    ['an unknown scheme', { ...fp8, activation_scheme: 'none' }, /activation_scheme is "none"/],
    ['blocks that cut ours', { ...fp8, weight_block_size: [128, 48] }, /weight_block_size is \[128,48\]/],
    ['blocks of one dimension', { ...fp8, weight_block_size: [128] }, /weight_block_size is \[128\]/],
    [
      'packed int4',
      { ...compressed, format: 'pack-quantized' },
      /format is "pack-quantized"; supported is: float-quantized/,
    ],
    ['int8', withWeights({ type: 'int' }), /weights\.type is "int"/],
    ['fp4', withWeights({ num_bits: 4 }), /weights\.num_bits is 4/],
    ['groups within rows', withWeights({ strategy: 'group', group_size: 32 }), /strategy is "group"/],
    ['blocks without size', withWeights({ strategy: 'block' }), /block_structure is null/],
    ['rows with blocks', withWeights({ block_structure: [128, 128] }), /block_structure is \[128,128\]/],
    ['asymmetric fp8', withWeights({ symmetric: false }), /symmetric is false/],
    ['no groups', { ...compressed, config_groups: {} }, /config_groups is \{\}/],
    [
      'int8 activations',
      { ...compressed, config_groups: { g: { ...group, input_activations: { num_bits: 8, type: 'int' } } } },
      /g\.input_activations\.type is "int"/,
    ],
    ['a quantized cache', { ...compressed, kv_cache_scheme: { num_bits: 8 } }, /kv_cache_scheme is \{"num_bits":8\}/],
    ['sparse weights', { ...compressed, sparsity_config: { format: 'sparse-24-bitmask' } }, /sparsity_config is/],
  ];
  it.each(cases)('refuses %s by name', (_, config, message) => {
    const error = refusal(config);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/^x\/config\.json: quantization_config/);
  });

  it('refuses what is no object', () => {
    for (const config of ['gptq', [], 4, { ...compressed, config_groups: { group_0: { weights: null } } }]) {
      expect(refusal(config)).toBeInstanceOf(InvalidModelError);
      expect(refusal(config).message).toMatch(/expected an object/);
    }
  });

  it('quotes little of long values', () => {
    expect(refusal({ ...gptq, bits: 'x'.repeat(1e5) }).message.length).toBeLessThan(300);
    expect(refusal({ quant_method: 'x'.repeat(1e5) }).message.length).toBeLessThan(400);
    expect(refusal({ ...gptq, ['x'.repeat(1e5)]: 1 }).message.length).toBeLessThan(400);
  });
});
