import type { GenerateEvent, GenerateUsage, Generation } from '@hearth/engine';

/** Tokens of one request, as its usage reports them. */
export interface RequestUsage {
  readonly promptTokens: number;
  /** Of the prompt, those that did not have to be computed. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** One text as far as it has come. */
interface Progress {
  numTokens: number;
  lastTokenAt: number | undefined;
  /** Present once it has ended well. */
  usage: GenerateUsage | undefined;
}

/** The texts that follow one prompt, seen from outside: when their tokens come, and how many, also when they are broken off. */
export class PromptWatch {
  readonly #numPromptTokens: number;
  readonly #onGap: ((seconds: number) => void) | undefined;
  readonly #texts: Progress[] = [];
  #firstTokenAt: number | undefined;

  /** @param onGap told of the time between each two tokens of a text, as they are handed on */
  constructor(numPromptTokens: number, onGap?: (seconds: number) => void) {
    this.#numPromptTokens = numPromptTokens;
    this.#onGap = onGap;
  }

  /** Of the clock `performance.now()`. */
  get firstTokenAt(): number | undefined {
    return this.#firstTokenAt;
  }

  /** The prompt counts once however many texts follow it, and not at all when nothing came of it. */
  get usage(): RequestUsage {
    const [first] = this.#texts;
    const hasBegun = this.#texts.some(({ usage, numTokens }) => usage !== undefined || numTokens > 0);
    return {
      promptTokens: hasBegun ? this.#numPromptTokens : 0,
      cachedTokens: first?.usage?.cachedTokens ?? 0,
      completionTokens: this.#texts.reduce(
        (sum, { usage, numTokens }) => sum + (usage?.completionTokens ?? numTokens),
        0,
      ),
    };
  }

  /** The same generation, watched while it is iterated. */
  watch(generation: Generation): Generation {
    const text: Progress = { numTokens: 0, lastTokenAt: undefined, usage: undefined };
    this.#texts.push(text);
    generation.result.then(
      ({ usage }) => {
        text.usage = usage;
      },
      // Whoever awaits the result hears of it.
      () => {},
    );
    return {
      result: generation.result,
      cancel: () => generation.cancel(),
      [Symbol.asyncIterator]: () => this.#iterate(generation[Symbol.asyncIterator](), text),
    };
  }

  #iterate(iterator: AsyncIterator<GenerateEvent>, text: Progress): AsyncIterator<GenerateEvent> {
    const onResult = (result: IteratorResult<GenerateEvent>) => {
      if (!result.done) this.#onToken(text);
      return result;
    };
    return {
      next: () => iterator.next().then(onResult),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    };
  }

  #onToken(text: Progress): void {
    const now = performance.now();
    this.#firstTokenAt ??= now;
    if (text.lastTokenAt !== undefined) this.#onGap?.((now - text.lastTokenAt) / 1000);
    text.lastTokenAt = now;
    text.numTokens++;
  }
}

/** The tokens of all prompts of a request. */
export function sumUsage(usages: readonly RequestUsage[]): RequestUsage {
  const sum = (count: (usage: RequestUsage) => number) => usages.reduce((total, usage) => total + count(usage), 0);
  return {
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
  };
}
