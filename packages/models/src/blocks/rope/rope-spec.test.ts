import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfigReader } from '../config-reader.ts';
import { parseRopeConfig } from '../rope-config.ts';
import { maxContextLength, ropeSpec } from './rope-spec.ts';

interface FrequencyCase {
  readonly config: {
    readonly head_dim: number;
    readonly max_position_embeddings: number;
    readonly rope_scaling?: { readonly rope_type: string };
  };
  readonly context_length: number | null;
  readonly attention_factor: number;
  readonly bits: readonly number[];
}

/** Made by `__fixtures__/make-frequencies.py` with Transformers. */
const cases: FrequencyCase[] = JSON.parse(
  readFileSync(new URL('./__fixtures__/frequencies.json', import.meta.url), 'utf8'),
);

function parse(config: FrequencyCase['config']) {
  const context = {
    headDim: config.head_dim,
    maxPositionEmbeddings: config.max_position_embeddings,
    defaultTheta: 10_000,
    isPartial: true,
  };
  return parseRopeConfig(new ConfigReader(config), context);
}

const title = ({ config, context_length }: FrequencyCase) =>
  `${config.rope_scaling?.rope_type ?? 'default'} ${JSON.stringify({ ...config, context_length }).slice(0, 120)}`;

describe('ropeSpec', () => {
  it.each(cases.map((golden) => [title(golden), golden] as const))(
    'gives the bits of Transformers: %s',
    (_, golden) => {
      const spec = ropeSpec(parse(golden.config), golden.context_length ?? undefined);
      expect(spec.rotaryDim).toBe(golden.bits.length * 2);
      expect(spec.attentionScaling).toBe(Math.fround(golden.attention_factor));
      // A power of PyTorch may be one unit in the last place off the rounded f64 power of docs/numerics.md, which moves its
      // frequency by as much. Of these cases, four have one such frequency.
      const off = [...new Uint32Array(spec.invFreq.buffer)].map((bits, i) => bits - golden.bits[i]!);
      expect(off.filter((difference) => difference !== 0).length).toBeLessThanOrEqual(1);
      expect(Math.max(...off.map(Math.abs))).toBeLessThanOrEqual(1);
    },
  );

  it.each([2, 4, 64, 80, 96, 128, 256])('is theta^(-2i / %i) to within its roundings', (rotaryDim) => {
    const theta = 100_000;
    const { invFreq } = ropeSpec({ theta, rotaryDim, maxPositionEmbeddings: 64, scaling: { type: 'default' } });
    // The exponent e < 1 is off by at most 2^-25, which the power multiplies by ln(theta); power and quotient add 2^-24 each.
    const bound = Math.log(theta) * 2 ** -25 + 2 * 2 ** -24;
    for (const [i, value] of invFreq.entries()) {
      expect(Math.abs(value * theta ** ((2 * i) / rotaryDim) - 1)).toBeLessThanOrEqual(bound);
    }
  });
});

const dynamic = { head_dim: 16, max_position_embeddings: 64, rope_scaling: { rope_type: 'dynamic', factor: 4 } };
const factors = { short_factor: Array(8).fill(1), long_factor: Array(8).fill(2) };
const longrope = { head_dim: 16, max_position_embeddings: 64, rope_scaling: { rope_type: 'longrope', ...factors } };

describe('the configured context length', () => {
  it('fixes dynamic scaling: none up to the original length, and none more than at the longest', () => {
    const rope = parse(dynamic);
    const frequency = (contextLength?: number) => ropeSpec(rope, contextLength).invFreq[1]!;
    expect(frequency(64)).toBe(ropeSpec({ ...rope, scaling: { type: 'default' } }).invFreq[1]);
    expect([frequency(undefined), frequency(1)]).toEqual([frequency(64), frequency(64)]);
    expect(frequency(65)).toBeLessThan(frequency(64));
    expect(frequency(256)).toBeLessThan(frequency(65));
    expect(frequency(4096)).toBe(frequency(256));
  });

  it('chooses the list of LongRoPE', () => {
    const rope = parse({ ...longrope, original_max_position_embeddings: 32 } as never);
    const first = (contextLength?: number) => ropeSpec(rope, contextLength).invFreq[0];
    expect([first(1), first(32), first(33), first(64), first()]).toEqual([1, 1, 0.5, 0.5, 0.5]);
  });
});

describe('maxContextLength', () => {
  it.each<[string, Record<string, unknown>, number]>([
    ['max_position_embeddings without scaling', {}, 64],
    ['max_position_embeddings with linear scaling', { rope_scaling: { type: 'linear', factor: 4 } }, 64],
    ['factor times as far with dynamic scaling', dynamic, 256],
    ['factor times the original with YaRN', { rope_scaling: { type: 'yarn', factor: 4 } }, 256],
    [
      'max_position_embeddings when YaRN reaches no further',
      { rope_scaling: { type: 'yarn', factor: 4, original_max_position_embeddings: 16 } },
      64,
    ],
    ['max_position_embeddings with LongRoPE', { ...longrope, original_max_position_embeddings: 32 }, 64],
    [
      'factor times as far when LongRoPE names no original length',
      { rope_scaling: { ...longrope.rope_scaling, factor: 8 } },
      512,
    ],
    ['what the angles of RoPE are exact for, at most', { rope_scaling: { type: 'yarn', factor: 1e5 } }, 2 ** 20],
  ])('is %s', (_, changes, expected) => {
    expect(maxContextLength(parse({ head_dim: 16, max_position_embeddings: 64, ...changes } as never))).toBe(expected);
  });
});
