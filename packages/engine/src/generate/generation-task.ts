import { noTokenAllowed, type RowOutput, type TokenMask } from '@hearth/core';
import { createSampler, NoTokenAllowedError, type Sample, type Sampler } from '@hearth/sampler';
import type { SpeculationStats, Speculator } from '@hearth/speculative';
import type { GenerationProfiler } from '../profile/op-profiler.ts';
import type { Task, TaskRows } from '../schedule/task.ts';
import type { Sequence } from '../session/sequence.ts';
import { Completion, type CompletionEnd, type StreamingDetokenizer } from './completion.ts';
import { ConstraintMasks } from './constraint-masks.ts';
import type { GenerationPlan } from './generate-options.ts';
import type { FinishReason, GenerateEvent, GenerateResult } from './generation.ts';
import { GenerationClock } from './generation-clock.ts';
import { ownMask } from './own-mask.ts';

export interface GenerationTaskOptions {
  readonly sequence: Sequence;
  readonly plan: GenerationPlan;
  readonly vocabSize: number;
  /** Whether the backend samples within its steps. */
  readonly samplesInStep: boolean;
  readonly detokenizer: StreamingDetokenizer;
  /** Present when the plan asks for a profile. */
  readonly profiler: GenerationProfiler | undefined;
  /** Present when tokens are to be guessed ahead. The task disposes of it. */
  readonly speculator: Speculator | undefined;
  /** Receives each token as it comes. */
  readonly emit: (event: GenerateEvent) => void;
}

const emptyHistory = { promptTokenIds: [], completionTokenIds: [] };

/**
 * One generation, from the prompt that is in the sequence to its last token: prefill, then a token or a verified run of them
 * per step. Everything that can be refused is refused by the constructor. The sequence holds every token that was emitted.
 */
export class GenerationTask implements Task {
  readonly priority: number;
  readonly mostPositions: number;
  readonly sequence: Sequence;
  readonly onProfile: Task['onProfile'];
  readonly #options: GenerationTaskOptions;
  readonly #sampler: Sampler;
  readonly #samplesInStep: boolean;
  readonly #speculator: Speculator | undefined;
  readonly #completion: Completion;
  readonly #samples: Sample[] = [];
  readonly #promptTokenIds: Int32Array;
  readonly #clock = new GenerationClock();
  /** Of the prompt, by steps of this task. */
  #numComputedTokens = 0;
  #proposals: readonly number[] = [];
  /** Length of the sequence that they were made for. */
  #proposedAt = -1;
  #isProposing = false;
  #mask: { readonly length: number; readonly mask: TokenMask | undefined } | undefined;
  readonly #constraint: ConstraintMasks | undefined;

  /** @throws InvalidArgumentError for sampling parameters or stop strings that make no sense */
  constructor(options: GenerationTaskOptions) {
    const { plan, sequence, detokenizer, vocabSize, profiler } = options;
    this.#options = options;
    this.sequence = sequence;
    this.priority = plan.priority;
    // The last token is never run.
    this.mostPositions = sequence.length + Math.max(0, plan.maxTokens - 1);
    this.#sampler = createSampler(plan.sampling, { vocabSize });
    this.#samplesInStep = options.samplesInStep && this.#sampler.sampleRow(emptyHistory) !== undefined;
    this.#speculator = options.speculator;
    this.#constraint = plan.constraint && new ConstraintMasks(plan.constraint, vocabSize);
    this.#completion = new Completion({ detokenizer, ...plan });
    this.#promptTokenIds = Int32Array.from(sequence.tokenIds);
    if (profiler) {
      this.onProfile = (timings, batch) =>
        (this.#samples.length === 0 ? profiler.prefill : profiler.decode).add(timings, batch);
    }
  }

  get upTo(): number {
    return this.sequence.length;
  }

  /** The last token's row gives the next token, so it runs again when it is cached already. */
  get outputFrom(): number {
    return this.#completion.end ? this.sequence.length : this.sequence.length - 1;
  }

  get proposals(): readonly number[] {
    const numAllowed = this.#constraint?.numAllowedGuesses(this.#completion.tokenIds.length);
    return numAllowed === undefined ? this.#proposals : this.#proposals.slice(0, numAllowed);
  }

  get isDone(): boolean {
    // Without tokens to make, the prompt is computed all the same.
    const isComputed = this.#samples.length > 0 || this.sequence.numCachedTokens >= this.sequence.length;
    return this.#completion.end !== undefined && isComputed;
  }

  propose(): Promise<void> | undefined {
    const { length } = this.sequence;
    if (!this.#speculator || this.#completion.end || this.#isProposing || this.#proposedAt === length) return undefined;
    this.#proposedAt = length;
    this.#proposals = [];
    // A run gives one token more than it has guesses.
    const most = this.#options.plan.maxTokens - this.#completion.tokenIds.length - 1;
    if (most < 1) return undefined;
    // A copy: proposers are other people's code.
    const proposals = this.#speculator.propose(this.sequence.tokenIds.slice(), most);
    if (!(proposals instanceof Promise)) {
      this.#proposals = proposals;
      return undefined;
    }
    this.#isProposing = true;
    return this.#awaitProposals(proposals, length);
  }

  /** The guesses that are there when its masks are asked for are those that may run. */
  getReady(): Promise<void> | undefined {
    if (this.#completion.end) return undefined;
    return this.#constraint?.ask(this.#completion.tokenIds, this.#proposals);
  }

  /** Guesses that come too late, when the text has gone on without them, are of no use. */
  async #awaitProposals(proposals: Promise<readonly number[]>, length: number): Promise<void> {
    try {
      const made = await proposals;
      if (this.sequence.length === length) this.#proposals = made;
    } catch {
      // It was disposed of, with this task.
    } finally {
      this.#isProposing = false;
    }
  }

  /**
   * Sampled in the step where that is possible. A mask function is asked for one token at a time, so with one the rows after
   * guesses are sampled here, one after the other. Both choose the same.
   */
  rowOutput(index: number): RowOutput {
    // Asked also where sampling is done here, as it throws what the constraint has failed with.
    const constrained = this.#constraint?.at(index);
    if (!this.#isInStep(index)) return { kind: 'logits' };
    const history = this.#history(this.#proposals.slice(0, index));
    return { kind: 'sample', ...this.#sampler.sampleRow(history, { mask: constrained ?? this.#maskNow() })! };
  }

  /** As the row refers to the tokens of the completion, it is that of the next step once the token has been added to them. */
  nextRowOutput(): RowOutput | undefined {
    const { plan } = this.#options;
    const isUnknown = this.#speculator || plan.mask || plan.constraint || this.#completion.end;
    return isUnknown ? undefined : this.rowOutput(0);
  }

  accept(rows: TaskRows): void {
    if (this.#samples.length === 0) this.#numComputedTokens += rows.numTokens;
    if (this.sequence.numCachedTokens < this.#promptTokenIds.length) return;
    this.#clock.prefilled();
    if (rows.numRows === 0) return;

    const { proposals } = rows;
    let numAccepted = 0;
    for (let row = 0; row < rows.numRows; row++) {
      const sample = this.#takeSample(rows, row);
      this.#emit(sample);
      const isGuessed = row < proposals.length && proposals[row] === sample.tokenId;
      if (!isGuessed) break;
      // It ran in this step already, right after the token before it.
      this.sequence.numCachedTokens++;
      numAccepted++;
      if (this.#completion.end) break;
    }
    // What the end of the text has cut off was neither right nor wrong.
    const numVerified = this.#completion.end ? numAccepted : proposals.length;
    if (proposals.length > 0) this.#speculator!.record(numAccepted, numVerified);
    this.#proposals = [];
  }

  /** What there is so far, ended by `end`. */
  result(end: CompletionEnd | { readonly finishReason: FinishReason } = this.#completion.end!): GenerateResult {
    const { text, tokenIds } = this.#completion;
    const promptTokens = this.#promptTokenIds.length;
    // A preempted prompt is computed more than once, and without tokens to make a whole prompt may be there already.
    const cachedTokens = Math.min(Math.max(0, promptTokens - this.#numComputedTokens), promptTokens - 1);
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
      usage: { promptTokens, cachedTokens, completionTokens: tokenIds.length },
      timings: this.#clock.timings({
        numPrefilled: promptTokens - cachedTokens,
        numDecoded: tokenIds.length - 1,
      }),
      ...(this.#speculator && { speculation: this.#speculator.stats }),
      ...(this.#options.profiler && { profile: this.#options.profiler.report() }),
      seed: this.#sampler.seed,
    };
  }

  get speculationStats(): SpeculationStats | undefined {
    return this.#speculator?.stats;
  }

  /** Frees what its proposers hold, and ends what they wait for. */
  async dispose(): Promise<void> {
    await this.#speculator?.dispose();
  }

  #takeSample(rows: TaskRows, row: number): Sample {
    if (this.#isInStep(row)) {
      const tokenId = rows.sampled(row);
      if (tokenId === noTokenAllowed) throw new NoTokenAllowedError(this.#options.vocabSize);
      return { tokenId };
    }
    const mask = this.#constraint ? this.#constraint.at(row) : this.#maskNow();
    return this.#sampler.sample(rows.logits(row), this.#history([]), { mask });
  }

  #isInStep(row: number): boolean {
    return this.#samplesInStep && !(this.#options.plan.mask && row > 0);
  }

  #history(guesses: readonly number[]) {
    const { tokenIds } = this.#completion;
    return {
      promptTokenIds: this.#promptTokenIds,
      completionTokenIds: guesses.length === 0 ? tokenIds : [...tokenIds, ...guesses],
    };
  }

  /** The caller's mask for the next token, asked for once. */
  #maskNow(): TokenMask | undefined {
    const { mask } = this.#options.plan;
    if (!mask) return undefined;
    const { tokenIds } = this.#completion;
    if (this.#mask?.length !== tokenIds.length) {
      this.#mask = { length: tokenIds.length, mask: ownMask(mask(tokenIds), this.#options.vocabSize) };
    }
    return this.#mask.mask;
  }

  #emit(sample: Sample): void {
    this.#clock.token();
    this.#samples.push(sample);
    this.sequence.append([sample.tokenId]);
    const text = this.#completion.push(sample.tokenId);
    this.#options.emit({ type: 'text-delta', text, index: this.#samples.length - 1, ...sample });
  }
}
