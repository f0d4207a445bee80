import type { Logger } from '../logger.ts';
import type { ServedModel } from '../models/served-model.ts';
import { PromptWatch, type RequestUsage } from '../observe/prompt-watch.ts';
import type { Services } from '../services.ts';

export interface RequestContextOptions {
  readonly services: Services;
  readonly request: Request;
  readonly requestId: string;
  /** Parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Called once, when the answer is over. */
  readonly onEnd: (context: RequestContext) => void;
}

/**
 * One request on its way: what it may use, what stops it, and what has to be given back at its end. The end comes when a plain
 * answer is made, when a stream was read to its end, or when the client has gone.
 */
export class RequestContext {
  readonly services: Services;
  readonly request: Request;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly log: Logger;
  /** Of the clock `performance.now()`. */
  readonly startedAt = performance.now();
  /** Set by whoever knows, for log and metrics. */
  model: string | undefined;
  /** Set where it is not the sum of the texts that are watched. */
  usage: RequestUsage | undefined;
  /** Of the answer, as far as it is known. */
  status = 200;
  readonly watches: PromptWatch[] = [];
  /** Why a stream that had begun broke off, for log and metrics. */
  error: unknown;
  /** Whether the answer goes on after the handler has returned. */
  isStreaming = false;
  readonly #controller = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  readonly #onEnd: (context: RequestContext) => void;
  readonly #onClientGone = () => this.stop(this.request.signal.reason);
  #isEnded = false;

  constructor(options: RequestContextOptions) {
    this.services = options.services;
    this.request = options.request;
    this.requestId = options.requestId;
    this.params = options.params;
    this.log = options.services.logger.child({ requestId: options.requestId });
    this.#onEnd = options.onEnd;
    const { signal } = this.request;
    if (signal.aborted) this.#onClientGone();
    else signal.addEventListener('abort', this.#onClientGone);
  }

  /** Fires when the client has gone, or the request is stopped for another reason. All work on the request ends with it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * The model of this name, loaded if need be, and kept until the request ends.
   * @throws ApiError 404 for an unknown name, 500 when it cannot be loaded
   */
  async useModel(name: string | null | undefined): Promise<ServedModel> {
    const { served, release } = await this.services.models.acquire(name ?? undefined, this.signal);
    this.onEnd(release);
    this.model = served.name;
    return served;
  }

  /** Has the texts that will follow a prompt counted and timed, for log and metrics. */
  watchPrompt(numPromptTokens: number): PromptWatch {
    const { model } = this;
    const onGap = model === undefined ? undefined : this.services.metrics.gapsOf(model);
    const watch = new PromptWatch(numPromptTokens, onGap);
    this.watches.push(watch);
    return watch;
  }

  /** Has `cleanup` called at the end, last one first; at once if the end has come. */
  onEnd(cleanup: () => void): void {
    if (this.#isEnded) cleanup();
    else this.#cleanups.push(cleanup);
  }

  /** Ends the work. A stream that goes on is told so by the error of what it waits for. */
  stop(reason: unknown): void {
    this.#controller.abort(reason);
    if (this.isStreaming) this.end();
  }

  /** Gives everything back. Safe to call twice. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.request.signal.removeEventListener('abort', this.#onClientGone);
    for (const cleanup of this.#cleanups.reverse()) cleanup();
    this.#onEnd(this);
  }
}
