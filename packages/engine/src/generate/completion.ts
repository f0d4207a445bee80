import { StopMatcher } from './stop-matcher.ts';

/** What turns tokens into text as they come: whole characters only. */
export interface StreamingDetokenizer {
  /** The text that this token completes; empty while a character is unfinished. */
  push(tokenId: number): string;
  /** The text has ended: whatever is still unfinished. */
  flush(): string;
}

export interface CompletionOptions {
  readonly detokenizer: StreamingDetokenizer;
  readonly stop: readonly string[];
  readonly stopTokenIds: ReadonlySet<number>;
  /** Most tokens that will be pushed. */
  readonly maxTokens: number;
}

/** Why a completion is over. */
export interface CompletionEnd {
  readonly finishReason: 'stop' | 'length';
  readonly stopSequence?: string;
  readonly stopTokenId?: number;
}

/** The tokens of a completion, its text, and where it ends. Pure state: it neither samples nor waits. */
export class Completion {
  readonly tokenIds: number[] = [];
  text = '';
  /** Set once the completion is over; no token may be pushed then. */
  end: CompletionEnd | undefined;
  readonly #options: CompletionOptions;
  readonly #matcher: StopMatcher;

  constructor(options: CompletionOptions) {
    this.#options = options;
    this.#matcher = new StopMatcher(options.stop);
    if (options.maxTokens === 0) this.end = { finishReason: 'length' };
  }

  /**
   * Adds a token and returns the text that it made safe to show: with the last token, all that was held back. A stop
   * string that is completed by the last token ends the text as `stop`, not as `length`.
   */
  push(tokenId: number): string {
    this.tokenIds.push(tokenId);
    const isStopToken = this.#options.stopTokenIds.has(tokenId);
    const isLast = isStopToken || this.tokenIds.length >= this.#options.maxTokens;
    let piece = isStopToken ? '' : this.#options.detokenizer.push(tokenId);
    if (isLast) piece += this.#options.detokenizer.flush();

    const result = this.#matcher.push(piece);
    let shown: string;
    if (typeof result === 'string') {
      shown = isLast ? result + this.#matcher.flush() : result;
      if (isLast) this.end = isStopToken ? { finishReason: 'stop', stopTokenId: tokenId } : { finishReason: 'length' };
    } else {
      shown = result.text;
      this.end = { finishReason: 'stop', stopSequence: result.stopSequence };
    }
    this.text += shown;
    return shown;
  }
}
