import type { AnswerUsage } from '../server/stream-answer.ts';
import type { AnswerStats } from './chat-message.ts';

/** Measures an answer as whoever waits for it sees it. */
export class AnswerClock {
  readonly #now: () => number;
  readonly #startedAt: number;
  #firstAt: number | undefined;
  #lastAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** Some of its text has come. */
  textCame(): void {
    this.#lastAt = this.#now();
    this.#firstAt ??= this.#lastAt;
  }

  stats(usage: AnswerUsage): AnswerStats {
    const firstTokenMs = this.#firstAt === undefined ? null : this.#firstAt - this.#startedAt;
    const seconds = (this.#lastAt - (this.#firstAt ?? 0)) / 1000;
    const isMeasured = this.#firstAt !== undefined && usage.completionTokens > 1 && seconds > 0;
    return { ...usage, firstTokenMs, tokensPerSecond: isMeasured ? (usage.completionTokens - 1) / seconds : null };
  }
}
