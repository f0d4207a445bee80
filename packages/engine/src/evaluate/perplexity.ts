import { setImmediate as nextTurn } from 'node:timers/promises';
import { InvalidArgumentError } from '@hearth/core';
import type { Model } from '../model/model.ts';
import { compareLogits } from './compare-logits.ts';
import { slidingWindows, type Window } from './windows.ts';

export interface PerplexityOptions {
  /** Tokens that are run at once, BOS included. Default: 512, or the context length if that is less. */
  readonly window?: number | undefined;
  /** Tokens from one window to the next, less than `window`. Default: half the window. */
  readonly stride?: number | undefined;
  /** A model with the same vocabulary (the unquantized one, as a rule) whose predictions are compared with. */
  readonly against?: Model | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each window. */
  readonly onProgress?: ((progress: PerplexityProgress) => void) | undefined;
}

export interface PerplexityProgress {
  readonly doneTokens: number;
  readonly totalTokens: number;
  /** Of the tokens so far. */
  readonly perplexity: number;
}

export interface PerplexityResult {
  /** exp of the mean negative log-likelihood of a token. */
  readonly perplexity: number;
  /** Mean negative log-likelihood in nats, and the standard error of that mean. */
  readonly meanNll: number;
  readonly standardError: number;
  /** Tokens that were scored. */
  readonly numTokens: number;
  readonly window: number;
  readonly stride: number;
  readonly seconds: number;
  /** Tokens run per second, those that only gave context included. */
  readonly tokensPerSecond: number;
  readonly against?: {
    readonly perplexity: number;
    /** Share of tokens for which both models think the same token most likely. */
    readonly top1Agreement: number;
    /** Mean Kullback-Leibler divergence of the model from `against`, in nats. */
    readonly meanKl: number;
  };
}

const defaultWindow = 512;
/** Tokens whose logits of two models are in JavaScript at a time. */
const comparedTokens = 32;

/**
 * How well a model predicts a text: the perplexity of its tokens over sliding windows, as Transformers' documentation
 * defines it for models of fixed length (each window a sequence of its own, every token scored once). Windows begin with BOS
 * where the model was trained with one.
 *
 * Alone, log-probabilities are those of `Session.score`, sums in f32 over the vocabulary; with `against` they are worked out
 * in f64 from the logits of both. The mean of the two ways differs by up to some 1e-4 nats in large vocabularies, so hold results of one way together.
 *
 * @param tokenIds the text without BOS
 * @throws InvalidArgumentError for a text of fewer than two tokens, or sizes that make no sense
 * @throws AbortError | ContextLengthError | NumericError
 */
export async function perplexity(
  model: Model,
  tokenIds: Int32Array,
  options: PerplexityOptions = {},
): Promise<PerplexityResult> {
  const { window, stride } = resolveSizes(model, tokenIds, options);
  const bos = model.tokenizer.addsBos ? model.tokenizer.bosTokenId : undefined;
  const prefix = bos === undefined ? [] : [bos];
  const length = window - prefix.length;
  const start = performance.now();
  const nlls = new RunningMean();
  const other = { nlls: new RunningMean(), kl: new RunningMean(), agreements: 0 };
  let numRun = 0;
  for (const span of slidingWindows(tokenIds.length, { length, stride, scoresFirst: bos !== undefined })) {
    if (options.against) {
      await compareWindow(model, options.against, prefix, tokenIds, span, options.signal, (comparison) => {
        nlls.add(comparison.nll);
        other.nlls.add(comparison.otherNll);
        other.kl.add(comparison.kl);
        if (comparison.agree) other.agreements++;
      });
    } else {
      const logprobs = await scoreWindow(model, prefix, tokenIds, span, options.signal);
      for (const logprob of logprobs) nlls.add(-logprob);
    }
    numRun += prefix.length + span.end - span.begin;
    options.onProgress?.({ doneTokens: span.end, totalTokens: tokenIds.length, perplexity: Math.exp(nlls.mean) });
  }
  const seconds = (performance.now() - start) / 1000;
  return {
    perplexity: Math.exp(nlls.mean),
    meanNll: nlls.mean,
    standardError: nlls.standardError,
    numTokens: nlls.count,
    window,
    stride,
    seconds,
    tokensPerSecond: numRun / seconds,
    ...(options.against && {
      against: {
        perplexity: Math.exp(other.nlls.mean),
        top1Agreement: other.agreements / nlls.count,
        meanKl: other.kl.mean,
      },
    }),
  };
}

function resolveSizes(model: Model, tokenIds: Int32Array, options: PerplexityOptions) {
  const { against } = options;
  if (tokenIds.length < 2) {
    throw new InvalidArgumentError(`A text of ${tokenIds.length} tokens has no perplexity; it takes at least two.`);
  }
  const { contextLength } = model.info;
  const window = options.window ?? Math.min(defaultWindow, contextLength);
  if (!Number.isInteger(window) || window < 4 || window > contextLength) {
    throw new InvalidArgumentError(
      `window must be a whole number from 4 to the context of ${contextLength}, got ${window}.`,
    );
  }
  // One place of each window is BOS, or the token that the first scored one follows.
  const longest = window - 1;
  const stride = options.stride ?? Math.floor(window / 2);
  if (!Number.isInteger(stride) || stride < 1 || stride > longest) {
    throw new InvalidArgumentError(`stride must be a whole number from 1 to ${longest}, got ${stride}.`);
  }
  if (against && against.tokenizer.fingerprint !== model.tokenizer.fingerprint) {
    throw new InvalidArgumentError(
      `${against.info.name} and ${model.info.name} have different tokenizers, so their predictions cannot be compared.`,
    );
  }
  if (against && against.info.vocabSize !== model.info.vocabSize) {
    throw new InvalidArgumentError(
      `${against.info.name} has ${against.info.vocabSize} logits and ${model.info.name} ${model.info.vocabSize}, so they cannot be compared.`,
    );
  }
  if (against && against.info.contextLength < window) {
    throw new InvalidArgumentError(
      `${against.info.name} has a context of ${against.info.contextLength}, window is ${window}.`,
    );
  }
  return { window, stride };
}

/** Log-probabilities of the scored tokens of a window. */
async function scoreWindow(
  model: Model,
  prefix: readonly number[],
  tokenIds: Int32Array,
  { begin, scoreFrom, end }: Window,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const session = model.createSession({ tokenIds: [...prefix, ...tokenIds.subarray(begin, scoreFrom)] });
  try {
    const scores = await session.score(tokenIds.subarray(scoreFrom, end), { ...(signal && { signal }) });
    return scores.logprobs;
  } finally {
    await session.dispose();
  }
}

/** Compares both models at every scored token of a window. */
async function compareWindow(
  model: Model,
  against: Model,
  prefix: readonly number[],
  tokenIds: Int32Array,
  { begin, scoreFrom, end }: Window,
  signal: AbortSignal | undefined,
  onToken: (comparison: ReturnType<typeof compareLogits>) => void,
): Promise<void> {
  const { vocabSize } = model.info;
  // The logits after a token predict the next one, so both start one token earlier and the last token is not run.
  const inputs = [...prefix, ...tokenIds.subarray(begin, end - 1)];
  const first = prefix.length + scoreFrom - begin - 1;
  const sessions = [model, against].map((each) => each.createSession({ tokenIds: inputs.slice(0, first) }));
  try {
    for (let at = first; at < inputs.length; at += comparedTokens) {
      const chunk = inputs.slice(at, at + comparedTokens);
      // One after the other: they would only share the processor.
      const rows: Float32Array[] = [];
      for (const session of sessions) rows.push(await session.forward(chunk, { ...(signal && { signal }) }));
      for (const i of chunk.keys()) {
        const [logits, other] = rows.map((each) => each.subarray(i * vocabSize, (i + 1) * vocabSize));
        onToken(compareLogits(logits!, other!, tokenIds[scoreFrom + at - first + i]!));
        // A row of 262,144 takes some 20 ms; others have a turn after each.
        await nextTurn();
      }
    }
  } finally {
    await Promise.all(sessions.map((session) => session.dispose()));
  }
}

/** Mean and its standard error of values that come one by one (Welford 1962). */
class RunningMean {
  count = 0;
  mean = 0;
  #squares = 0;

  add(value: number): void {
    this.count++;
    const delta = value - this.mean;
    this.mean += delta / this.count;
    this.#squares += delta * (value - this.mean);
  }

  get standardError(): number {
    return this.count < 2 ? 0 : Math.sqrt(this.#squares / (this.count - 1) / this.count);
  }
}
