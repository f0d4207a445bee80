import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ConfigReader } from './config-reader.ts';
import { parseRopeConfig, ropeSpec } from './rope-config.ts';

function parse(json: Record<string, unknown>) {
  return parseRopeConfig(new ConfigReader(json), 10000);
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
    expect(parse(json)).toEqual({ theta: 10000, factor: 1 });
  });

  it.each<[string, Record<string, unknown>]>([
    ['type', { rope_scaling: { type: 'linear', factor: 2 } }],
    ['rope_type', { rope_scaling: { rope_type: 'linear', factor: 2 } }],
    ['both, agreeing', { rope_scaling: { type: 'linear', rope_type: 'linear', factor: 2 } }],
    ['rope_parameters', { rope_parameters: { rope_type: 'linear', factor: 2, rope_theta: 10000 } }],
    [
      'both objects, agreeing',
      { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 2 } },
    ],
  ])('reads linear scaling by %s', (_, json) => {
    expect(parse(json)).toEqual({ theta: 10000, factor: 2 });
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

  it.each(['spiral', 'dynamic', 'yarn', 'llama3', 'longrope', 'su', 'constructor'])('refuses %s by name', (type) => {
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
    expect(() => parse({ rope_theta: 10000, rope_parameters: { rope_theta: 500000 } })).toThrow(/rope_theta is given/);
  });

  it.each([['linear'], [[1]], [7]])('refuses %j in place of an object', (scaling) => {
    expect(() => parse({ rope_scaling: scaling })).toThrow(InvalidModelError);
  });
});

describe('ropeSpec', () => {
  // Bits of 1.0 / (theta ** (torch.arange(0, 16, 2).float() / 16)) / factor, PyTorch 2 on x64.
  it.each<[number, number, number[]]>([
    [10000, 1, [0x3f800000, 0x3ea1e89b, 0x3dcccccd, 0x3d0186e3, 0x3c23d70a, 0x3b4f3e38, 0x3a83126f, 0x39a5cb60]],
    [10000, 3.5, [0x3e924925, 0x3db909d6, 0x3cea0ea1, 0x3c1407df, 0x3b3b3ee7, 0x3a6cd965, 0x3995cbed, 0x38bd7ab7]],
    [500000, 1, [0x3f800000, 0x3e4693b0, 0x3d1a08c8, 0x3beef74f, 0x3ab95d21, 0x398fc8f8, 0x385f10c4, 0x372d07a7]],
    [500000, 3.5, [0x3e924925, 0x3d62f1ee, 0x3c300a09, 0x3b088d52, 0x39d3d826, 0x38a45365, 0x377eee97, 0x3645bf9a]],
  ])('gives the bits of PyTorch for theta %f and factor %f', (theta, factor, bits) => {
    const { invFreq, rotaryDim } = ropeSpec({ theta, factor }, 16);
    expect(rotaryDim).toBe(16);
    expect([...new Int32Array(invFreq.buffer)]).toEqual(bits);
  });

  it.each([2, 4, 64, 80, 96, 128, 256])('is theta^(-2i / %i) to within its roundings', (rotaryDim) => {
    const theta = 100_000;
    const { invFreq } = ropeSpec({ theta, factor: 1 }, rotaryDim);
    // The exponent e < 1 is off by at most 2^-25, which the power multiplies by ln(theta); power and quotient add 2^-24 each.
    const bound = Math.log(theta) * 2 ** -25 + 2 * 2 ** -24;
    for (const [i, value] of invFreq.entries()) {
      expect(Math.abs(value * theta ** ((2 * i) / rotaryDim) - 1)).toBeLessThanOrEqual(bound);
    }
  });
});
