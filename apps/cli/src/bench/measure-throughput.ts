import type { Model } from '@hearth/engine';
import { generate, type RunOptions, type Speed, type SpeedPlan } from './measure-speed.ts';
import { median } from './statistics.ts';

export interface ThroughputPlan extends SpeedPlan {
  /** How many prompts are handed in at the same moment. */
  readonly sequences: number;
}

/**
 * Many sequences at once, from the moment that all of them are handed in until the last one ends, prefill included: the
 * tokens that they make together, and what one of them sees once it has its first token.
 */
export async function measureThroughput(
  model: Model,
  { sequences, promptTokens, generateTokens, rounds }: ThroughputPlan,
  options: RunOptions,
): Promise<Speed[]> {
  const together: number[] = [];
  const each: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const startedAt = performance.now();
    const results = await Promise.all(
      Array.from({ length: sequences }, (_, promptNumber) =>
        generate(model, { promptTokens, generateTokens, promptNumber }, options),
      ),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    options.onRound?.(round + 1, rounds + 1);
    if (round === 0) continue;
    together.push(results.reduce((sum, { usage }) => sum + usage.completionTokens, 0) / seconds);
    each.push(median(results.map(({ timings }) => timings.tokensPerSecond!)));
  }
  const common = { sequences, context: promptTokens };
  return [
    { phase: 'together', ...common, tokens: sequences * (generateTokens + 1), tokensPerSecond: together },
    { phase: 'each', ...common, tokens: generateTokens, tokensPerSecond: each },
  ];
}
