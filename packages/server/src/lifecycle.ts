import { ApiError } from './http/api-error.ts';
import type { RequestContext } from './http/request-context.ts';

export interface DrainOptions {
  /** After so many milliseconds the requests that still run are ended. Default: they may run to their end. */
  readonly timeoutMs?: number | undefined;
}

/** Whether the server takes requests, and which are under way. */
export class Lifecycle {
  readonly #underWay = new Set<RequestContext>();
  #numPreloads = 0;
  #isDraining = false;
  #onIdle: (() => void)[] = [];

  /** Requests whose answers are not over. */
  get numUnderWay(): number {
    return this.#underWay.size;
  }

  /** @throws ApiError 503 once the server is shutting down */
  checkOpen(): void {
    if (this.#isDraining) throw shuttingDown();
  }

  /** @throws ApiError 503 while models are loaded ahead of requests, and once the server is shutting down */
  checkReady(): void {
    this.checkOpen();
    if (this.#numPreloads === 0) return;
    throw new ApiError('The server is loading its models.', {
      status: 503,
      code: 'loading',
      headers: { 'Retry-After': '1' },
    });
  }

  add(context: RequestContext): void {
    this.#underWay.add(context);
  }

  remove(context: RequestContext): void {
    this.#underWay.delete(context);
    if (this.#underWay.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** The server is not ready until `load` has settled. */
  async preload(load: Promise<void>): Promise<void> {
    this.#numPreloads++;
    try {
      await load;
    } finally {
      this.#numPreloads--;
    }
  }

  /** Takes no more requests. Resolves when none is under way. */
  async drain({ timeoutMs = Number.POSITIVE_INFINITY }: DrainOptions = {}): Promise<void> {
    this.#isDraining = true;
    if (this.#underWay.size === 0) return;
    const isIdle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
    const timer = Number.isFinite(timeoutMs) ? setTimeout(() => this.stopAll(), timeoutMs) : undefined;
    await isIdle;
    clearTimeout(timer);
  }

  /** Ends every request: streams with an error event, others with 503. */
  stopAll(): void {
    this.#isDraining = true;
    for (const context of [...this.#underWay]) context.stop(shuttingDown());
  }
}

function shuttingDown(): ApiError {
  return new ApiError('The server is shutting down. Try again later.', {
    status: 503,
    code: 'shutting_down',
    headers: { 'Retry-After': '5', Connection: 'close' },
  });
}
