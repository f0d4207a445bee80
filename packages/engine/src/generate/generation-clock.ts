import type { GenerateTimings } from './generation.ts';

/** When things happened in a generation. */
export class GenerationClock {
  readonly #startedAt = performance.now();
  #prefilledAt: number | undefined;
  #firstTokenAt: number | undefined;
  #lastTokenAt: number | undefined;

  /** The prompt is in the cache. */
  prefilled(): void {
    this.#prefilledAt ??= performance.now();
  }

  /** A token was chosen. */
  token(): void {
    this.#lastTokenAt = performance.now();
    this.#firstTokenAt ??= this.#lastTokenAt;
  }

  timings({ numPrefilled, numDecoded }: { numPrefilled: number; numDecoded: number }): GenerateTimings {
    const now = performance.now();
    const prefillMs = (this.#prefilledAt ?? now) - this.#startedAt;
    const decodeMs = this.#firstTokenAt === undefined ? 0 : this.#lastTokenAt! - this.#firstTokenAt;
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
