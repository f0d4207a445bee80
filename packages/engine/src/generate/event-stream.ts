import { InvalidArgumentError } from '@hearth/core';

/**
 * Events from a producer that does not wait to one consumer. Events that nobody has asked for yet are kept, so that a
 * generation whose result alone is awaited runs to its end; they are bounded by the number of tokens.
 */
export class EventStream<Event> implements AsyncIterable<Event> {
  readonly #events: Event[] = [];
  readonly #waiting: { resolve(result: IteratorResult<Event>): void; reject(error: unknown): void }[] = [];
  readonly #onCancel: () => Promise<void>;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #error: unknown;
  #isTaken = false;

  /** @param onCancel called when the consumer leaves early; the consumer goes on when it has resolved */
  constructor(onCancel: () => Promise<void>) {
    this.#onCancel = onCancel;
  }

  push(event: Event): void {
    if (this.#state !== 'open') return;
    const consumer = this.#waiting.shift();
    if (consumer) consumer.resolve({ done: false, value: event });
    else this.#events.push(event);
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  /** Events that were pushed before are still delivered, then `error` is thrown. */
  fail(error: unknown): void {
    if (this.#state !== 'open') return;
    this.#error = error;
    const consumer = this.#waiting.shift();
    // Only the first of several outstanding requests gets the error; after it the iteration is over.
    this.#state = consumer ? 'ended' : 'failed';
    consumer?.reject(error);
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): AsyncIterator<Event> {
    if (this.#isTaken) {
      throw new InvalidArgumentError('A generation can be iterated once. Await its result for the whole text.');
    }
    this.#isTaken = true;
    return {
      next: () => this.#next(),
      return: async () => {
        this.#events.length = 0;
        if (this.#state === 'open') {
          this.end();
          await this.#onCancel();
        }
        this.#state = 'ended';
        return { done: true, value: undefined };
      },
    };
  }

  #next(): Promise<IteratorResult<Event>> {
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#state === 'failed') {
      this.#state = 'ended';
      return Promise.reject(this.#error);
    }
    if (this.#state === 'ended') return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}
