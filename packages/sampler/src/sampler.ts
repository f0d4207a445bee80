import { InvalidArgumentError, type SampleRow, type TokenMask } from '@hearth/core';
import { argmax } from './candidates/argmax.ts';
import { selectCandidates } from './candidates/select-candidates.ts';
import { drawCandidate } from './draw-candidate.ts';
import { NoTokenAllowedError } from './no-token-allowed-error.ts';
import { buildPipeline, type Pipeline } from './order.ts';
import { describeValue, invalidField } from './params/check.ts';
import { resolveSamplingParams } from './params/resolve-sampling-params.ts';
import type { ResolvedSamplingParams, SamplingParams } from './params/sampling-params.ts';
import type { Processor, SamplingContext, SamplingHistory } from './processors/processor.ts';
import { GREEDY_TEMPERATURE, NEGLIGIBLE_SCALED_LOGIT, temperatureDivisor } from './processors/temperature.ts';
import { tokenMask } from './processors/token-mask.ts';
import { uniformDraw } from './random/uniform-draw.ts';
import { requireFinite, requireLogits } from './require-finite.ts';
import { rowLogprobsWith, type TokenLogprob } from './row-logprobs.ts';
import { type Workspace, withWorkspace } from './workspace.ts';

/** What a sampler needs besides the parameters of a request. */
export interface SamplerOptions {
  /** Length of the logits rows. */
  readonly vocabSize: number;
  /** Steps of the caller's own; `order.ts` says where they go. Several of one stage run in the order given. */
  readonly processors?: readonly Processor[] | undefined;
}

export interface SampleOptions {
  /** Tokens that may be chosen this time, for grammars. Undefined allows all. */
  readonly mask?: TokenMask | undefined;
}

export interface Sample {
  readonly tokenId: number;
  /** Of the chosen token. Only with `logprobs` set. */
  readonly logprob?: number;
  /** The `logprobs` best tokens of the model's distribution, best first. They need not hold the chosen one. Only with `logprobs` set. */
  readonly topLogprobs?: readonly TokenLogprob[];
}

/**
 * Chooses the tokens of one sequence.
 *
 * A sample depends on the logits, the history, the mask, and the parameters with their seed. It does not depend on
 * earlier calls, so steps can be repeated, taken back, or taken for several rows ahead (speculation) with equal results.
 */
export class Sampler {
  /** The parameters in force, defaults filled in. */
  readonly params: ResolvedSamplingParams;
  readonly vocabSize: number;
  readonly #pipeline: Pipeline;
  readonly #isGreedy: boolean;
  readonly #alwaysCopies: boolean;
  readonly #needsLogits: boolean;

  /** Use `createSampler`. */
  constructor(params: SamplingParams, { vocabSize, processors = [] }: SamplerOptions) {
    this.params = resolveSamplingParams(params, vocabSize);
    this.vocabSize = vocabSize;
    checkProcessors(processors);
    this.#pipeline = buildPipeline(this.params, processors);
    this.#isGreedy = this.params.temperature < GREEDY_TEMPERATURE;
    this.#alwaysCopies = this.#pipeline.logitSteps.some(({ processor }) => processor !== tokenMask);
    this.#needsLogits = this.params.logprobs !== undefined || processors.length > 0;
  }

  /** The 64-bit seed in use, 0 to 2^64 - 1: the one given (modulo 2^64), or the random one that was drawn. */
  get seed(): bigint {
    return this.params.seed;
  }

  /**
   * The choice of the next token as one row of a step, for a backend that samples inside its steps (`canSampleInStep`): it
   * gives the token that `sample` gives for the same history and options. Undefined where that needs the logits in
   * JavaScript: for log-probabilities, and for processors of the caller's own.
   */
  sampleRow(history: SamplingHistory, { mask }: SampleOptions = {}): SampleRow | undefined {
    if (this.#needsLogits) return undefined;
    const { logprobs: _, ...params } = this.params;
    const { promptTokenIds, completionTokenIds } = history;
    return { ...params, promptTokenIds, completionTokenIds, mask };
  }

  /**
   * Chooses the token that follows the history.
   *
   * @param logits [vocabSize], as the model gave them; never changed
   * @param history the tokens that led to this row; the number of completion tokens selects the random number
   * @throws NumericError when a logit is NaN or infinite
   * @throws NoTokenAllowedError when the mask or a processor has banned every token
   * @throws InvalidArgumentError when the row, the mask or a token id of the history does not fit the vocabulary
   */
  sample(logits: Float32Array, history: SamplingHistory, options: SampleOptions = {}): Sample {
    this.#checkRow(logits);
    requireFinite(logits);
    const { promptTokenIds, completionTokenIds } = history;
    const context = { promptTokenIds, completionTokenIds, mask: options.mask };
    return withWorkspace((workspace) => {
      const tokenId = this.#choose(logits, context, workspace);
      const { logprobs } = this.params;
      return logprobs === undefined
        ? { tokenId }
        : { tokenId, ...rowLogprobsWith(workspace, logits, tokenId, logprobs) };
    });
  }

  #choose(logits: Float32Array, context: SamplingContext, workspace: Workspace): number {
    const scores = this.#processLogits(logits, context, workspace);
    const bestTokenId = argmax(scores);
    if (bestTokenId === -1) throw new NoTokenAllowedError(this.vocabSize);
    if (this.#isGreedy) return bestTokenId;

    const { candidates, selection } = workspace;
    const { temperature, topK, seed, choiceIndex } = this.params;
    const best = scores[bestTokenId]!;
    // What temperature would drop need not be ordered. The second term is far below the distance of the next float and
    // keeps the floor below the best logit where that is so large that the first one vanishes beside it.
    const range = Math.max(-NEGLIGIBLE_SCALED_LOGIT * temperatureDivisor(temperature), Math.abs(best) * 2 ** -40);
    const floor = best - range;
    const limit = topK === 0 ? this.vocabSize : Math.min(topK, this.vocabSize);
    selectCandidates(scores, { limit, floor }, candidates, selection);
    for (const processor of this.#pipeline.candidateProcessors) processor.process(candidates, context);
    return drawCandidate(candidates, uniformDraw(seed, choiceIndex, context.completionTokenIds.length));
  }

  /** The row after all logit processors: a copy, or the row itself where nothing changes it. */
  #processLogits(logits: Float32Array, context: SamplingContext, workspace: Workspace): Float32Array {
    if (!this.#alwaysCopies && context.mask === undefined) return logits;
    const scores = workspace.copyRow(logits);
    for (const { processor, isCustom } of this.#pipeline.logitSteps) {
      processor.process(scores, context);
      if (isCustom) requireLogits(scores, processor.name);
    }
    return scores;
  }

  #checkRow(logits: Float32Array): void {
    const expected = `a Float32Array of ${this.vocabSize} values, one per token`;
    if (!(logits instanceof Float32Array)) throw invalidField('logits', expected, logits);
    if (logits.length === this.vocabSize) return;
    throw new InvalidArgumentError(`logits must be ${expected}, but got ${logits.length} values.`, {
      details: { field: 'logits', expected, received: logits.length },
    });
  }
}

/**
 * A sampler for one sequence.
 *
 * @throws InvalidArgumentError naming the field, what it takes and what came; nothing is clamped or ignored
 */
export function createSampler(params: SamplingParams, options: SamplerOptions): Sampler {
  return new Sampler(params, options);
}

function checkProcessors(processors: readonly Processor[]): void {
  for (const [index, processor] of processors.entries()) {
    if (processor?.stage === 'logits' || processor?.stage === 'candidates') continue;
    const received = (processor as { stage?: unknown } | undefined)?.stage;
    throw new InvalidArgumentError(
      `processors[${index}].stage must be 'logits' or 'candidates', but got ${describeValue(received)}.`,
      { details: { field: `processors[${index}].stage`, expected: ['logits', 'candidates'], received } },
    );
  }
}
