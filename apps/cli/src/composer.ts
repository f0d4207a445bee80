/** How long typing has to pause, in milliseconds. */
const pauseMs = 200;

/**
 * Has a message computed while it is typed: when no key has come for a while, until the next one comes. What it is computed
 * with fails here without a word, because the answer will say it.
 */
export class Composer {
  readonly #compute: (draft: string, signal: AbortSignal) => Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #controller = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(compute: (draft: string, signal: AbortSignal) => Promise<unknown>) {
    this.#compute = compute;
  }

  /** A key has come. */
  typed(draft: string): void {
    this.#stop();
    const { signal } = this.#controller;
    this.#timer = setTimeout(() => {
      this.#running = this.#running.then(() => this.#compute(draft, signal)).catch(() => {});
    }, pauseMs);
  }

  /** Resolves when nothing is computed any more. */
  async stop(): Promise<void> {
    this.#stop();
    await this.#running;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#controller = new AbortController();
  }
}
