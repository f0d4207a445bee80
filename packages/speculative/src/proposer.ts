/**
 * A source of guesses of what comes next. Shared by all sequences of a model.
 *
 * Guesses are only ever checked against the tokens that the model itself chooses, so a poor proposer costs time and
 * changes no token.
 */
export interface Proposer {
  /** Short, for statistics. */
  readonly name: string;
  /**
   * Refuses a model that it cannot guess for. Asked whenever speculation is set up, before any work.
   * @throws VocabularyMismatchError, or an error of the proposer's own
   */
  checkTarget?(target: TargetModel): void;
  /** State for one sequence, from its prompt on. */
  start(): SequenceProposer;
}

/** Guesses for one sequence. It is asked again only after its last answer has come. */
export interface SequenceProposer {
  /**
   * At most `maxTokens` guesses of what follows, in order; empty when it has none.
   *
   * @param tokenIds prompt and completion so far; between calls it only grows
   * @param signal ends the work; the answer then rejects with an `AbortError`
   */
  propose(
    tokenIds: readonly number[],
    maxTokens: number,
    signal?: AbortSignal,
  ): readonly number[] | Promise<readonly number[]>;
  /** Frees what it holds. Safe at any moment and as often as you like. */
  dispose(): Promise<void>;
}

/** What is known of the model that is guessed for. A `Model` of `@hearth/engine` is one. */
export interface TargetModel {
  readonly info: {
    /** Rows of logits. */
    readonly vocabSize: number;
  };
  readonly tokenizer: Vocabulary;
}

/** Which bytes each token id stands for. A `Tokenizer` of `@hearth/tokenizer` is one. */
export interface Vocabulary {
  /** One more than the largest id. */
  readonly vocabSize: number;
  /** Equal for vocabularies that are equal. */
  readonly fingerprint: string;
  /** Bytes of text that an id adds; empty for ids without a token. */
  tokenBytes(id: number): Uint8Array;
  /** Whether the id is a control token. */
  isSpecial(id: number): boolean;
}
