import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ConfigReader } from './config-reader.ts';
import { parseLayerTypeRopes, parseRopeConfig } from './rope-config.ts';

const context = { headDim: 16, maxPositionEmbeddings: 64, defaultTheta: 10000 };
const plain = { theta: 10000, rotaryDim: 16, maxPositionEmbeddings: 64 };

function parse(json: Record<string, unknown>, changes: { isPartial?: boolean } = {}) {
  return parseRopeConfig(new ConfigReader(json), { ...context, ...changes });
}

describe('parseRopeConfig', () => {
  it.each<[string, Record<string, unknown>]>([
    ['absent', {}],
    ['null', { rope_scaling: null }],
    ['empty', { rope_scaling: {} }],
    ['default', { rope_scaling: { rope_type: 'default' } }],
    ['default in the form of Transformers 5', { rope_parameters: { rope_type: 'default', rope_theta: 10000 } }],
    ['a theta without a type', { rope_parameters: { rope_theta: 10000 } }],
    ['null keys', { rope_scaling: { type: null, factor: null } }],
  ])('takes no scaling when it is %s', (_, json) => {
    expect(parse(json)).toEqual({ ...plain, scaling: { type: 'default' } });
  });

  it.each<[string, Record<string, unknown>]>([
    ['type', { rope_scaling: { type: 'linear', factor: 2 } }],
    ['rope_type', { rope_scaling: { rope_type: 'linear', factor: 2 } }],
    ['both, agreeing', { rope_scaling: { type: 'linear', rope_type: 'linear', factor: 2 } }],
    ['rope_parameters', { rope_parameters: { rope_type: 'linear', factor: 2, rope_theta: 10000 } }],
    [
      'rope_scaling, beside a theta alone',
      { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_theta: 10000 } },
    ],
    [
      'both objects, agreeing',
      { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 2 } },
    ],
  ])('reads linear scaling by %s', (_, json) => {
    expect(parse(json)).toEqual({ ...plain, scaling: { type: 'linear', factor: 2 } });
  });

  it('reads theta from either place', () => {
    expect(parse({ rope_theta: 500000 }).theta).toBe(500000);
    expect(parse({ rope_parameters: { rope_theta: 500000 } }).theta).toBe(500000);
    expect(parse({ rope_theta: 500000, rope_parameters: { rope_theta: 500000 } }).theta).toBe(500000);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    [
      'types that disagree',
      { type: 'linear', rope_type: 'dynamic', factor: 2 },
      /dynamic by rope_type, linear by type/,
    ],
    ['a missing factor', { rope_type: 'linear' }, /factor in rope_scaling/],
    ['a factor that is text', { rope_type: 'linear', factor: '2' }, /factor/],
    ['a factor of 0', { rope_type: 'linear', factor: 0 }, /factor/],
    ['a factor below 1', { rope_type: 'linear', factor: 0.5 }, /factor/],
    ['a factor without a type', { factor: 2 }, /neither rope_type nor type/],
    ['a type that is a number', { rope_type: 3 }, /rope_type/],
  ])('refuses %s', (_, scaling, message) => {
    expect(() => parse({ rope_scaling: scaling })).toThrow(InvalidModelError);
    expect(() => parse({ rope_scaling: scaling })).toThrow(message);
  });

  it.each(['spiral', 'mrope', 'constructor'])('refuses %s by name', (type) => {
    const json = { rope_scaling: { rope_type: type, factor: 2 } };
    expect(() => parse(json)).toThrow(UnsupportedError);
    expect(() => parse(json)).toThrow(`"${type}"`);
  });

  it('refuses keys that the type does not use, rather than ignore them', () => {
    const json = { rope_scaling: { rope_type: 'linear', factor: 2, low_freq_factor: 1 } };
    expect(() => parse(json)).toThrow(UnsupportedError);
    expect(() => parse(json)).toThrow('low_freq_factor');
    expect(() => parse({ rope_scaling: { rope_type: 'default', factor: 2 } })).toThrow(/default.*factor/);
  });

  it('refuses two places that disagree', () => {
    const linear = { rope_type: 'linear', factor: 2 };
    expect(() => parse({ rope_scaling: linear, rope_parameters: { ...linear, factor: 4 } })).toThrow(InvalidModelError);
    expect(() => parse({ rope_theta: 10000, rope_parameters: { rope_theta: 500000 } })).toThrow(
      /base of RoPE is given twice and differently: 10000 by .*, 500000 by rope_theta in rope_parameters/,
    );
  });

  it.each([['linear'], [[1]], [7]])('refuses %j in place of an object', (scaling) => {
    expect(() => parse({ rope_scaling: scaling })).toThrow(InvalidModelError);
  });
});

const llama3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 32,
};
const list = (value: number) => Array(8).fill(value);
const longrope = { short_factor: list(1), long_factor: list(2) };

describe('the scaling types', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['dynamic', { factor: 2 }, { factor: 2, originalMaxPositionEmbeddings: 64 }],
    ['dynamic', { factor: 2, original_max_position_embeddings: 64 }, { originalMaxPositionEmbeddings: 64 }],
    [
      'llama3',
      llama3,
      { type: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositionEmbeddings: 32 },
    ],
    [
      'yarn',
      { factor: 4 },
      {
        type: 'yarn',
        factor: 4,
        originalMaxPositionEmbeddings: 64,
        betaFast: 32,
        betaSlow: 1,
        truncate: true,
        attentionFactor: 0.1 * Math.log(4) + 1,
      },
    ],
    ['yarn', { factor: 4, original_max_position_embeddings: 16 }, { originalMaxPositionEmbeddings: 16 }],
    ['yarn', { factor: 4, attention_factor: 1.5, mscale: 2, mscale_all_dim: 3 }, { attentionFactor: 1.5 }],
    ['yarn', { factor: 4, mscale: 2, mscale_all_dim: 2 }, { attentionFactor: 1 }],
    ['yarn', { factor: 4, mscale: 2, mscale_all_dim: 0 }, { attentionFactor: 0.1 * Math.log(4) + 1 }],
    ['yarn', { factor: 4, beta_fast: 8, beta_slow: 2, truncate: false }, { betaFast: 8, betaSlow: 2, truncate: false }],
    [
      'longrope',
      { ...longrope, original_max_position_embeddings: 16 },
      {
        type: 'longrope',
        shortFactor: list(1),
        longFactor: list(2),
        factor: 4,
        originalMaxPositionEmbeddings: 16,
        attentionFactor: Math.sqrt(1.5),
      },
    ],
    ['longrope', { ...longrope, factor: 4 }, { factor: 4, originalMaxPositionEmbeddings: 64 }],
    ['longrope', { ...longrope, factor: 4, attention_factor: 1.1 }, { attentionFactor: 1.1 }],
  ])('reads %s %j', (type, scaling, expected) => {
    expect(parse({ rope_scaling: { ...scaling, rope_type: type } }).scaling).toMatchObject(expected);
  });

  it('takes su for longrope, also beside the new name', () => {
    for (const types of [{ type: 'su' }, { type: 'su', rope_type: 'longrope' }]) {
      expect(parse({ rope_scaling: { ...longrope, ...types, factor: 4 } }).scaling.type).toBe('longrope');
    }
  });

  it('reads the original length of longrope beside rope_scaling too, when both agree', () => {
    const at = (inside: number | undefined) =>
      parse({
        rope_scaling: { ...longrope, type: 'longrope', original_max_position_embeddings: inside },
        original_max_position_embeddings: 16,
      }).scaling;
    expect(at(undefined)).toMatchObject({ originalMaxPositionEmbeddings: 16, factor: 4 });
    expect(at(16)).toMatchObject({ originalMaxPositionEmbeddings: 16 });
    expect(() => at(32)).toThrow(/original_max_position_embeddings in rope_scaling .* outside of it \(16\), got 32/);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['dynamic', {}, /factor/],
    ['dynamic', { factor: 2, original_max_position_embeddings: 32 }, /original_max_position_embeddings .*64.* got 32/],
    ['llama3', { ...llama3, factor: null }, /factor/],
    ['llama3', { ...llama3, low_freq_factor: null }, /low_freq_factor/],
    ['llama3', { ...llama3, low_freq_factor: 0 }, /low_freq_factor/],
    ['llama3', { ...llama3, high_freq_factor: 1 }, /high_freq_factor .* above low_freq_factor/],
    ['llama3', { ...llama3, original_max_position_embeddings: null }, /original_max_position_embeddings/],
    ['yarn', {}, /factor/],
    ['yarn', { factor: 4, beta_fast: 1, beta_slow: 2 }, /beta_fast/],
    ['yarn', { factor: 4, attention_factor: 0 }, /attention_factor/],
    ['yarn', { factor: 4, attention_factor: '1' }, /attention_factor/],
    ['yarn', { factor: 4, mscale: -1 }, /mscale/],
    ['yarn', { factor: 4, truncate: 1 }, /truncate/],
    ['yarn', { factor: 4, original_max_position_embeddings: 0 }, /original_max_position_embeddings/],
    ['longrope', { ...longrope }, /factor/],
    ['longrope', { ...longrope, factor: 2, original_max_position_embeddings: 16 }, /factor .* is 2, .* is 4/],
    ['longrope', { ...longrope, factor: 4, short_factor: list(1).slice(1) }, /short_factor .* list of 8 numbers/],
    ['longrope', { ...longrope, factor: 4, long_factor: null }, /long_factor/],
    ['longrope', { ...longrope, factor: 4, long_factor: list(0) }, /long_factor/],
    ['longrope', { ...longrope, factor: 4, long_factor: ['1', ...list(1).slice(1)] }, /long_factor/],
  ])('refuses %s %j', (type, scaling, message) => {
    const json = { rope_scaling: { ...scaling, rope_type: type } };
    expect(() => parse(json)).toThrow(InvalidModelError);
    expect(() => parse(json)).toThrow(message);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['dynamic', { factor: 2, alpha: 1000 }, 'alpha'],
    ['llama3', { ...llama3, beta_fast: 32 }, 'beta_fast'],
    ['yarn', { factor: 2, short_factor: list(1) }, 'short_factor'],
    ['longrope', { ...longrope, factor: 4, long_mscale: 1.2 }, 'long_mscale'],
  ])('refuses a key that %s does not use: %j', (type, scaling, key) => {
    const json = { rope_scaling: { ...scaling, rope_type: type } };
    expect(() => parse(json)).toThrow(UnsupportedError);
    expect(() => parse(json)).toThrow(`has ${key}, which this type does not use`);
  });

  it('refuses sizes that a formula divides by zero for', () => {
    const narrow = { ...context, headDim: 2 };
    const dynamic = new ConfigReader({ rope_scaling: { type: 'dynamic', factor: 2 } });
    expect(() => parseRopeConfig(dynamic, narrow)).toThrow(/fewer than 4 dimensions/);
    expect(() => parse({ rope_theta: 1, rope_scaling: { type: 'yarn', factor: 2 } })).toThrow(/rope_theta is 1/);
  });
});

describe('partial_rotary_factor', () => {
  it('is the part of a head that rotates, rounded down, in either place', () => {
    expect(parse({ partial_rotary_factor: 0.5 }, { isPartial: true }).rotaryDim).toBe(8);
    expect(parse({ partial_rotary_factor: 0.4 }, { isPartial: true }).rotaryDim).toBe(6);
    expect(parse({ rope_parameters: { partial_rotary_factor: 0.25 } }, { isPartial: true }).rotaryDim).toBe(4);
    expect(parse({ partial_rotary_factor: 1 }).rotaryDim).toBe(16);
  });

  it('is refused where the family rotates whole heads, and where it makes no pairs', () => {
    expect(() => parse({ partial_rotary_factor: 0.5 })).toThrow(UnsupportedError);
    expect(() => parse({ rope_parameters: { partial_rotary_factor: 0.5 } })).toThrow(/partial_rotary_factor is 0.5/);
    for (const factor of [0, 0.1, 0.2, 1.5, '1']) {
      expect(() => parse({ partial_rotary_factor: factor }, { isPartial: true })).toThrow(InvalidModelError);
    }
  });

  it('must be the same in both places', () => {
    const json = { partial_rotary_factor: 0.5, rope_parameters: { partial_rotary_factor: 0.25 } };
    expect(() => parse(json, { isPartial: true })).toThrow(/partial_rotary_factor is given twice/);
  });
});

it('refuses to rotate neighbouring pairs', () => {
  expect(() => parse({ rope_interleaved: true })).toThrow(UnsupportedError);
  expect(parse({ rope_interleaved: false }).scaling.type).toBe('default');
});

describe('parseLayerTypeRopes', () => {
  const parseBoth = (json: Record<string, unknown>) =>
    parseLayerTypeRopes(new ConfigReader(json), { ...context, defaultTheta: 1_000_000 }, 10_000);

  it('has a base for global and one for local layers', () => {
    const { global, local } = parseBoth({});
    expect([global.theta, local.theta]).toEqual([1_000_000, 10_000]);
    const given = parseBoth({ rope_theta: 500_000, rope_local_base_freq: 20_000 });
    expect([given.global.theta, given.local.theta]).toEqual([500_000, 20_000]);
  });

  it('scales the global layers only', () => {
    const { global, local } = parseBoth({ rope_scaling: { rope_type: 'linear', factor: 8 } });
    expect(global.scaling).toEqual({ type: 'linear', factor: 8 });
    expect(local.scaling).toEqual({ type: 'default' });
  });

  it('reads the form of Transformers 5', () => {
    const rope_parameters = {
      full_attention: { rope_type: 'linear', factor: 8, rope_theta: 500_000 },
      sliding_attention: { rope_type: 'default', rope_theta: 20_000 },
    };
    expect(parseBoth({ rope_parameters })).toEqual({
      global: { ...plain, theta: 500_000, scaling: { type: 'linear', factor: 8 } },
      local: { ...plain, theta: 20_000, scaling: { type: 'default' } },
    });
    expect(() => parseBoth({ rope_parameters, rope_local_base_freq: 10_000 })).toThrow(/base of RoPE is given twice/);
    expect(() => parseBoth({ rope_parameters, rope_scaling: { type: 'linear', factor: 2 } })).toThrow(/given twice/);
  });

  it('refuses the form of one for all layers, and other layer types', () => {
    expect(() => parseBoth({ rope_parameters: { rope_type: 'default' } })).toThrow(/rope_parameters .* has rope_type/);
    expect(() => parseBoth({ rope_parameters: { chunked_attention: {} } })).toThrow(UnsupportedError);
    expect(() => parse({ rope_parameters: { full_attention: { rope_type: 'default' } } })).toThrow(/full_attention/);
  });
});
