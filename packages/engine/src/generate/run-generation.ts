import { noTokenAllowed } from '@hearth/core';
import { createSampler, NoTokenAllowedError, type Sample, type Sampler } from '@hearth/sampler';
import type { GenerationProfiler } from '../profile/op-profiler.ts';
import { type ComputeOptions, computeUncached } from '../session/compute.ts';
import type { Sequence } from '../session/sequence.ts';
import type { StepLoop } from '../step/step-loop.ts';
import { Completion, type CompletionEnd, type StreamingDetokenizer } from './completion.ts';
import type { GenerationPlan } from './generate-options.ts';
import type { FinishReason, GenerateEvent, GenerateResult, GenerateTimings } from './generation.ts';

export interface RunGenerationOptions {
  readonly loop: StepLoop;
  readonly sequence: Sequence;
  readonly plan: GenerationPlan;
  readonly vocabSize: number;
  readonly chunkTokens: number;
  /** Whether the backend samples within its steps. */
  readonly samplesInStep: boolean;
  readonly detokenizer: StreamingDetokenizer;
  /** Present when the plan asks for a profile. */
  readonly profiler: GenerationProfiler | undefined;
}

/**
 * One generation, from the prompt that is in the sequence to its last token. Everything that can be refused is refused by
 * the constructor; `run` does the work.
 */
export class GenerationRun {
  readonly #options: RunGenerationOptions;
  readonly #sampler: Sampler;
  readonly #completion: Completion;
  readonly #samples: Sample[] = [];
  readonly #promptTokenIds: readonly number[];
  readonly #numCachedTokens: number;
  readonly #startedAt = performance.now();
  #prefilledAt: number | undefined;
  #firstTokenAt: number | undefined;
  #lastTokenAt: number | undefined;

  /** @throws InvalidArgumentError for sampling parameters or stop strings that make no sense */
  constructor(options: RunGenerationOptions) {
    const { plan, sequence, detokenizer, vocabSize } = options;
    this.#options = options;
    this.#sampler = createSampler(plan.sampling, { vocabSize });
    this.#completion = new Completion({ detokenizer, ...plan });
    this.#promptTokenIds = sequence.tokenIds.slice();
    // The last token's logits are needed, so it runs again when everything is cached. By the numerics contract it writes
    // the same keys and values over themselves.
    this.#numCachedTokens = Math.min(sequence.numCachedTokens, sequence.length - 1);
  }

  /**
   * Prefill, then a token per step until the completion ends. The sequence holds every token that was emitted, also when
   * this rejects.
   */
  async run(signal: AbortSignal, emit: (event: GenerateEvent) => void): Promise<GenerateResult> {
    const { loop, sequence, chunkTokens, profiler } = this.#options;
    const completion = this.#completion;
    if (completion.end === undefined) sequence.numCachedTokens = this.#numCachedTokens;
    do {
      let sample: Sample | undefined;
      const take = (chosen: Sample) => {
        sample = chosen;
      };
      const phase = this.#prefilledAt === undefined ? profiler?.prefill : profiler?.decode;
      await computeUncached(loop, sequence, {
        signal,
        chunkTokens,
        ...(completion.end === undefined && this.#chooseToken(take)),
        ...(phase && { onProfile: (timings, batch) => phase.add(timings, batch) }),
      });
      this.#prefilledAt ??= performance.now();
      if (sample) emit(this.#accept(sample));
    } while (completion.end === undefined);
    return this.result(completion.end);
  }

  /** What there is so far, ended by `end`. */
  result(end: CompletionEnd | { readonly finishReason: FinishReason }): GenerateResult {
    const { text, tokenIds } = this.#completion;
    const promptTokens = this.#promptTokenIds.length;
    return {
      text,
      tokenIds: tokenIds.slice(),
      ...end,
      ...(this.#options.plan.sampling.logprobs !== undefined && {
        logprobs: this.#samples.map(({ logprob, topLogprobs }) => ({
          logprob: logprob!,
          topLogprobs: topLogprobs ?? [],
        })),
      }),
      usage: { promptTokens, cachedTokens: this.#numCachedTokens, completionTokens: tokenIds.length },
      timings: this.#timings(),
      ...(this.#options.profiler && { profile: this.#options.profiler.report() }),
      seed: this.#sampler.seed,
    };
  }

  /** How the next token is chosen: within the step where that is possible, else from the logits. Both choose the same. */
  #chooseToken(take: (sample: Sample) => void): Pick<ComputeOptions, 'sample' | 'onSampled' | 'onLogits'> {
    const { samplesInStep, plan, vocabSize } = this.#options;
    const completionTokenIds = this.#completion.tokenIds;
    const history = { promptTokenIds: this.#promptTokenIds, completionTokenIds };
    const mask = plan.mask?.(completionTokenIds);
    const sample = samplesInStep ? this.#sampler.sampleRow(history, { mask }) : undefined;
    if (!sample) return { onLogits: (logits) => take(this.#sampler.sample(logits, history, { mask })) };
    const onSampled = (tokenId: number) => {
      if (tokenId === noTokenAllowed) throw new NoTokenAllowedError(vocabSize);
      take({ tokenId });
    };
    return { sample, onSampled };
  }

  #accept(sample: Sample): GenerateEvent {
    this.#lastTokenAt = performance.now();
    this.#firstTokenAt ??= this.#lastTokenAt;
    this.#samples.push(sample);
    this.#options.sequence.append([sample.tokenId]);
    const text = this.#completion.push(sample.tokenId);
    return { type: 'text-delta', text, index: this.#samples.length - 1, ...sample };
  }

  #timings(): GenerateTimings {
    const now = performance.now();
    const prefillMs = (this.#prefilledAt ?? now) - this.#startedAt;
    const decodeMs = this.#firstTokenAt === undefined ? 0 : this.#lastTokenAt! - this.#firstTokenAt;
    const numPrefilled = this.#promptTokenIds.length - this.#numCachedTokens;
    const numDecoded = this.#completion.tokenIds.length - 1;
    return {
      prefillMs,
      firstTokenMs: this.#firstTokenAt === undefined ? null : this.#firstTokenAt - this.#startedAt,
      decodeMs,
      totalMs: now - this.#startedAt,
      prefillTokensPerSecond: this.#prefilledAt === undefined ? null : perSecond(numPrefilled, prefillMs),
      tokensPerSecond: numDecoded < 1 ? null : perSecond(numDecoded, decodeMs),
    };
  }
}

function perSecond(count: number, milliseconds: number): number | null {
  return milliseconds > 0 ? (count * 1000) / milliseconds : null;
}
