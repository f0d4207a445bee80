import { ContextLengthError, InvalidArgumentError } from '@hearth/core';
import type { SamplingParams, TokenMask } from '@hearth/sampler';
import type { SpeculationOptions } from '@hearth/speculative';
import { checkRequestOptions } from '../session/work.ts';

/** Says which tokens may come next. */
export interface TokenConstraint {
  /**
   * The masks for the next token and then for the token after each guess. There may be fewer of them when a guess is not
   * allowed or ends the text: what follows it is of no use. Undefined allows all. Masks are copied.
   *
   * @param completionTokenIds every token so far, without those of the prompt
   * @returns what the generation fails with, when it rejects
   */
  nextMasks(
    completionTokenIds: readonly number[],
    guesses: readonly number[],
  ): Promise<readonly (TokenMask | undefined)[]>;
}

/** What to generate, and how to choose tokens. Sampling is that of @hearth/sampler: temperature 0 is greedy, 1 the default. */
export interface GenerateOptions extends SamplingParams {
  /**
   * Most tokens to make. 0 computes the prompt and makes none. When it is null, absent, or larger than what is left of the
   * context, generation goes on to the end of the context, or of the cache where that is smaller.
   */
  readonly maxTokens?: number | null | undefined;
  /** Text that ends the generation; it is not part of the text. Each may span tokens. */
  readonly stop?: string | readonly string[] | undefined;
  /** Tokens that end the generation, besides those that the model itself names as end of text. */
  readonly stopTokenIds?: readonly number[] | undefined;
  /** Go on past the model's own end of text tokens. For measurements. */
  readonly ignoreEos?: boolean | undefined;
  /**
   * Special tokens whose text is to appear in the text: markers of tool calls and reasoning, as a rule. Default: none does.
   * The token that ends the generation never does.
   */
  readonly showSpecialTokens?: readonly number[] | undefined;
  /**
   * Which tokens may come next, asked before each one with the tokens of the completion so far (the array itself, which
   * grows). Undefined allows all. The mask is copied, so it may be the same array each time. For grammars.
   */
  readonly mask?: ((completionTokenIds: readonly number[]) => TokenMask | undefined) | undefined;
  /**
   * What the text has to obey, asked for masks as the tokens come; they may be made elsewhere and awaited. The texts of other
   * requests go on meanwhile. A matcher of @hearth/constraints is one. It stays the caller's, to be disposed of at the end.
   */
  readonly constraint?: TokenConstraint | undefined;
  /** Measure the time of every op, and count its work; the result then has a `profile`. Costs nothing when off. */
  readonly profile?: boolean | undefined;
  /** Guess tokens ahead: the text comes sooner, and is the same. False: do not. Default: as the model was loaded. */
  readonly speculation?: SpeculationOptions | false | undefined;
  /**
   * Requests of higher priority start first, and take blocks of the cache from lower ones that run. They do not end a lower
   * one to run in its stead when `maxSequences` run already. Default: 0.
   */
  readonly priority?: number | undefined;
  /** Ends the generation with a `DeadlineError` when it is not done after so many milliseconds, waiting included. */
  readonly timeoutMs?: number | undefined;
  /** Ends the generation with an `AbortError`, in the queue, in prefill and in decode. */
  readonly signal?: AbortSignal | undefined;
}

/** Options with their defaults filled in, checked against the session they are for. */
export interface GenerationPlan {
  /** Never more than what is left of the context. */
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly stopTokenIds: ReadonlySet<number>;
  readonly showSpecialTokens: ReadonlySet<number>;
  readonly mask: ((completionTokenIds: readonly number[]) => TokenMask | undefined) | undefined;
  readonly constraint: TokenConstraint | undefined;
  readonly profile: boolean;
  readonly speculation: SpeculationOptions | undefined;
  readonly priority: number;
  readonly timeoutMs: number | undefined;
  /** Everything that is left, for the sampler, which refuses names that it does not know. */
  readonly sampling: SamplingParams;
}

/** What a plan depends on besides the options. */
export interface SessionFacts {
  /** Tokens in the session. */
  readonly length: number;
  readonly contextLength: number;
  /** Positions that the whole cache holds. */
  readonly cacheTokens: number;
  /** Of generations that do not say otherwise. */
  readonly speculation: SpeculationOptions | undefined;
  readonly vocabSize: number;
  readonly eosTokenIds: ReadonlySet<number>;
}

/**
 * Checks the options before any work is done.
 * @throws InvalidArgumentError that names the option
 * @throws ContextLengthError when not one token fits after the prompt
 */
export function planGeneration(options: GenerateOptions, session: SessionFacts): GenerationPlan {
  const { maxTokens = null, stop = [], stopTokenIds = [], ignoreEos = false, mask, profile = false } = options;
  const { showSpecialTokens = [], constraint, speculation, priority = 0, timeoutMs } = options;
  if (session.length === 0) {
    throw new InvalidArgumentError('The session is empty. Extend it with a prompt, at least its start token, first.');
  }
  if (maxTokens !== null && !(Number.isInteger(maxTokens) && maxTokens >= 0)) {
    throw invalid('maxTokens', 'a whole number from 0, or null for the rest of the context', maxTokens);
  }
  if (typeof stop !== 'string' && !Array.isArray(stop)) throw invalid('stop', 'a string or an array of strings', stop);
  checkTokenIds('stopTokenIds', stopTokenIds, session.vocabSize);
  checkTokenIds('showSpecialTokens', showSpecialTokens, session.vocabSize);
  if (typeof ignoreEos !== 'boolean') throw invalid('ignoreEos', 'true or false', ignoreEos);
  if (mask !== undefined && typeof mask !== 'function') throw invalid('mask', 'a function', mask);
  if (constraint !== undefined && typeof constraint?.nextMasks !== 'function') {
    throw invalid('constraint', 'an object with a method nextMasks', constraint);
  }
  if (mask && constraint) {
    throw new InvalidArgumentError('mask and constraint both say which tokens may come next: give one of them.');
  }

  checkRequestOptions({ priority, timeoutMs });

  const room = session.contextLength - session.length;
  if (maxTokens !== 0 && room < 1) throw new ContextLengthError(session.length + 1, session.contextLength);
  // The last token needs no place in the cache.
  const cacheRoom = Math.max(1, session.cacheTokens - session.length + 1);
  return {
    maxTokens: maxTokens !== null && maxTokens < room ? maxTokens : Math.min(room, cacheRoom),
    stop: typeof stop === 'string' ? [stop] : stop,
    stopTokenIds: new Set([...(ignoreEos ? [] : session.eosTokenIds), ...stopTokenIds]),
    showSpecialTokens: new Set(showSpecialTokens),
    mask,
    constraint,
    profile,
    speculation: speculation === false ? undefined : (speculation ?? session.speculation),
    priority,
    timeoutMs,
    sampling: withoutOwnOptions(options),
  };
}

function withoutOwnOptions(options: GenerateOptions): SamplingParams {
  const {
    maxTokens,
    stop,
    stopTokenIds,
    ignoreEos,
    showSpecialTokens,
    mask,
    constraint,
    profile,
    speculation,
    priority,
    timeoutMs,
    signal,
    ...sampling
  } = options;
  return sampling;
}

function checkTokenIds(option: string, ids: readonly number[], vocabSize: number): void {
  if (!Array.isArray(ids)) throw invalid(option, 'an array of token ids', ids);
  for (const id of ids) {
    if (Number.isInteger(id) && id >= 0 && id < vocabSize) continue;
    throw invalid(option, `token ids from 0 to ${vocabSize - 1}`, id);
  }
}

function invalid(option: string, expected: string, value: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${option} must be ${expected}, got ${String(value)}.`, {
    details: { field: option, expected, received: value },
  });
}
