/** What the wanted rows of a step are reduced to before they reach JavaScript. */
export type StepOutput =
  | { readonly kind: 'logits' }
  | { readonly kind: 'hidden' }
  /** Each output row by itself, in order. Those of the kind `hidden` come last: the head runs on the rows before them only. */
  | { readonly kind: 'rows'; readonly rows: readonly RowOutput[] };

/** What one output row is reduced to. The logits of all but those of the kind `hidden` can be read besides. */
export type RowOutput =
  | { readonly kind: 'logits' }
  /** The final hidden row, which the head would read. For embeddings. */
  | { readonly kind: 'hidden' }
  /** Log-probability (f32 log-softmax of the raw logits) of one id, and the row's argmax. */
  | { readonly kind: 'logprob'; readonly tokenId: number }
  | ({ readonly kind: 'sample' } & SampleRow);

/**
 * Sampling of one output row inside the step: the definitions of @hearth/sampler, and its bits. It depends on this and on the
 * row's raw logits alone. What it refers to must not change before the step is done.
 */
export interface SampleRow {
  /** 0 or more; below 2^-30 the best token is taken. */
  readonly temperature: number;
  /** 0: no limit. */
  readonly topK: number;
  /** 0 to 1; 1: off. */
  readonly topP: number;
  /** 0 to 1; 0: off. */
  readonly minP: number;
  /** 0 to 1; 1: off. */
  readonly typicalP: number;
  /** Positive in f32; 1: off. Looks at the last `repetitionWindow` tokens of prompt and completion; -1: at all. */
  readonly repetitionPenalty: number;
  readonly repetitionWindow: number;
  /** -2 to 2; 0: off. These two look at the completion. */
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** By token id, -100 to 100. */
  readonly logitBias: ReadonlyMap<number, number>;
  /** 0 to 2^64 - 1. */
  readonly seed: bigint;
  /** 0 to 2^32 - 1. */
  readonly choiceIndex: number;
  /**
   * The tokens that led to this row. Only penalties look at the ids (as int32), and then there may be as many as the context has
   * positions; the number of completion tokens selects the random number.
   */
  readonly promptTokenIds: ArrayLike<number>;
  readonly completionTokenIds: ArrayLike<number>;
  /** Tokens that may be chosen; absent: all. */
  readonly mask?: TokenMask | undefined;
}

/**
 * Allowed tokens as bits: bit `id % 32` of word `id / 32 | 0` is set where `id` is allowed. At least
 * ceil(vocabSize / 32) words; bits past the vocabulary are ignored. The layout of grammar engines such as XGrammar.
 */
export type TokenMask = Uint32Array | Int32Array;

/** In the place of a sampled token: the mask leaves none to choose. */
export const noTokenAllowed = -2;
