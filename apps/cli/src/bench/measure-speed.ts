import type { GenerateResult, Model } from '@hearth/engine';
import { median, spread } from './statistics.ts';

export interface SpeedPlan {
  /** Tokens of the prompt, and of the context that decode is measured at besides an empty one. */
  readonly promptTokens: number;
  /** Tokens that are timed in decode. */
  readonly generateTokens: number;
  /** Rounds that count; one before them warms caches and threads. */
  readonly rounds: number;
}

/** One line of the result. */
export interface Speed {
  readonly phase: 'prefill' | 'decode' | 'together' | 'each';
  /** How many ran at once. */
  readonly sequences: number;
  /** Positions before the first timed token. */
  readonly context: number;
  /** Timed tokens of a round. */
  readonly tokens: number;
  /** Of each round. */
  readonly tokensPerSecond: readonly number[];
}

export interface RunOptions {
  readonly signal: AbortSignal;
  /** Called after each round, the one that does not count included. */
  readonly onRound?: (done: number, total: number) => void;
}

/** Prefill of a prompt, decode from nothing and decode after the prompt, in turn, round by round. */
export async function measureSpeed(model: Model, plan: SpeedPlan, options: RunOptions): Promise<Speed[]> {
  const { promptTokens, generateTokens, rounds } = plan;
  const prefill: number[] = [];
  const decodeAt0: number[] = [];
  const decodeAfterPrompt: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const short = await generate(model, { promptTokens: 1, generateTokens }, options);
    const long = await generate(model, { promptTokens, generateTokens }, options);
    options.onRound?.(round + 1, rounds + 1);
    if (round === 0) continue;
    prefill.push(long.timings.prefillTokensPerSecond!);
    decodeAt0.push(short.timings.tokensPerSecond!);
    decodeAfterPrompt.push(long.timings.tokensPerSecond!);
  }
  return [
    { phase: 'prefill', sequences: 1, context: 0, tokens: promptTokens, tokensPerSecond: prefill },
    { phase: 'decode', sequences: 1, context: 0, tokens: generateTokens, tokensPerSecond: decodeAt0 },
    {
      phase: 'decode',
      sequences: 1,
      context: promptTokens,
      tokens: generateTokens,
      tokensPerSecond: decodeAfterPrompt,
    },
  ];
}

export function summary({ tokensPerSecond }: Speed): { readonly median: number; readonly spread: number } {
  return { median: median(tokensPerSecond), spread: spread(tokensPerSecond) };
}

export interface GeneratePlan {
  readonly promptTokens: number;
  readonly generateTokens: number;
  /** Prompts of different numbers differ from their first token on. */
  readonly promptNumber?: number;
  readonly profile?: boolean;
}

/** Greedy, past any end of text: the first token ends prefill, so one more than are timed. */
export async function generate(
  model: Model,
  { promptTokens, generateTokens, promptNumber = 0, profile = false }: GeneratePlan,
  { signal }: RunOptions,
): Promise<GenerateResult> {
  const session = model.createSession({ tokenIds: someTokens(promptTokens, promptNumber, model.info.vocabSize) });
  try {
    const options = { maxTokens: generateTokens + 1, temperature: 0, ignoreEos: true, profile, signal };
    return await session.generate(options).result;
  } finally {
    await session.dispose();
  }
}

/** Spread over the first 240 ids, which every vocabulary has; what they mean changes no speed, but for the choice of experts. */
function someTokens(count: number, promptNumber: number, vocabSize: number): number[] {
  return Array.from({ length: count }, (_, i) => (3 + ((promptNumber + i * 37) % 240)) % vocabSize);
}
