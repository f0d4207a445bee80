import { describe, expect, it } from 'vitest';
import { type Llama3RopeScaling, llama3FrequencyFactors, ropeScalingFromFactors } from './rope-frequencies.ts';

const llama31: Llama3RopeScaling = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

describe('llama3FrequencyFactors', () => {
  it('leaves short waves alone, divides long ones by the factor, and blends between', () => {
    const factors = llama3FrequencyFactors(llama31, 500_000, 128);
    expect(factors[0]).toBe(1);
    expect(factors[63]).toBe(8);
    // Ratios of the frequencies that Transformers 4.57.6 computes in f32 without and with scaling; six digits survive there.
    expect(factors[28]).toBe(1);
    expect(factors[30]).toBeCloseTo(1.5534145832, 5);
    expect(factors[34]).toBeCloseTo(5.2573270798, 5);
    expect(factors[35]).toBe(8);
    expect([...factors]).toEqual([...factors].sort((a, b) => a - b));
  });
});

describe('ropeScalingFromFactors', () => {
  it('finds the parameters of Llama 3.1 and 3.2 again', () => {
    for (const [factor, headDim] of [
      [8, 128],
      [32, 64],
    ] as const) {
      const scaling = { ...llama31, factor };
      expect(ropeScalingFromFactors(llama3FrequencyFactors(scaling, 500_000, headDim), 500_000, headDim)).toEqual(
        scaling,
      );
    }
  });

  it('finds another original context', () => {
    const scaling = { ...llama31, original_max_position_embeddings: 2048 };
    expect(ropeScalingFromFactors(llama3FrequencyFactors(scaling, 10_000, 64), 10_000, 64)).toEqual(scaling);
  });

  it('takes equal factors for linear scaling, and ones for none', () => {
    expect(ropeScalingFromFactors(new Float32Array(32).fill(4), 10_000, 64)).toEqual({
      rope_type: 'linear',
      factor: 4,
    });
    expect(ropeScalingFromFactors(new Float32Array(32).fill(1), 10_000, 64)).toBeNull();
  });

  it('does not guess: other factors, another length, zeros and NaN have no scaling', () => {
    const factors = llama3FrequencyFactors(llama31, 500_000, 128);
    factors[30]! *= 1.01;
    expect(ropeScalingFromFactors(factors, 500_000, 128)).toBeUndefined();
    expect(ropeScalingFromFactors(new Float32Array(31).fill(1), 10_000, 64)).toBeUndefined();
    expect(ropeScalingFromFactors(new Float32Array(32), 10_000, 64)).toBeUndefined();
    expect(ropeScalingFromFactors(new Float32Array(32).fill(Number.NaN), 10_000, 64)).toBeUndefined();
  });
});
