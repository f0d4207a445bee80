/** Fewer tokens at a time cost more than they save: the weights are read once a step, however few tokens use them. */
const leastChunk = 16;
/** Before anything was measured. */
const firstChunk = 64;
/** How much the newest measurement counts, when it is faster than what was expected. A slower one counts in full, and at once. */
const learningRate = 0.25;
/** Share of the time that is planned for: tokens further on in a prompt take longer than those that were measured. */
const margin = 0.8;

export interface ChunkSizerOptions {
  /** How long the prefill part of a step should take, in milliseconds. */
  readonly targetMs: number;
  readonly maxTokens: number;
}

/**
 * How many tokens of prefill go into a step that others wait for: as many as take `targetMs` by what earlier steps took.
 * A measured guess decides about time alone; by the numerics contract the size of chunks changes no result.
 */
export class ChunkSizer {
  readonly #options: ChunkSizerOptions;
  #msPerToken: number | undefined;
  /** Of a step without prefill. */
  #decodeMs = 0;

  constructor(options: ChunkSizerOptions) {
    this.#options = options;
  }

  /** Tokens of prefill for the next step, from 16 (or `maxTokens` if that is less) to `maxTokens`. */
  get chunkTokens(): number {
    const { targetMs, maxTokens } = this.#options;
    const wanted = this.#msPerToken === undefined ? firstChunk : Math.floor((margin * targetMs) / this.#msPerToken);
    return Math.min(maxTokens, Math.max(leastChunk, wanted));
  }

  /** The fewest that are worth a place in a step. */
  get leastTokens(): number {
    return Math.min(this.#options.maxTokens, leastChunk);
  }

  /** What a step took. */
  observe(step: { readonly numPrefillTokens: number; readonly numOtherTokens: number; readonly milliseconds: number }) {
    const { numPrefillTokens, numOtherTokens, milliseconds } = step;
    if (numPrefillTokens === 0) {
      this.#decodeMs += learningRate * (milliseconds - this.#decodeMs);
    } else if (numPrefillTokens >= Math.min(leastChunk, this.#options.maxTokens)) {
      const prefillMs = numOtherTokens === 0 ? milliseconds : Math.max(milliseconds / 2, milliseconds - this.#decodeMs);
      const msPerToken = prefillMs / numPrefillTokens;
      const expected = this.#msPerToken ?? msPerToken;
      this.#msPerToken = Math.max(msPerToken, expected + learningRate * (msPerToken - expected));
    }
  }
}
