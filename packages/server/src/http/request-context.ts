import { setMaxListeners } from 'node:events';
import type { Logger } from '../logger.ts';
import type { ServedModel } from '../models/served-model.ts';
import { PromptWatch, type RequestUsage } from '../observe/prompt-watch.ts';
import type { Services } from '../services.ts';
import { ApiError } from './api-error.ts';
import type { Route } from './route.ts';
import { toApiError } from './to-api-error.ts';

/** What came in. */
export interface IncomingRequest {
  readonly route: Route;
  readonly request: Request;
  readonly requestId: string;
  /** Parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Cuts the connection, where the caller can. */
  readonly disconnect?: (() => unknown) | undefined;
}

export interface RequestContextOptions extends IncomingRequest {
  readonly services: Services;
  /** Called once, when the answer is over. */
  readonly onEnd: (context: RequestContext) => void;
}

/**
 * One request on its way: what it may use, what stops it, and what has to be given back at its end. The end comes when a plain
 * answer is made, when a stream was read to its end, or when the client has gone.
 */
export class RequestContext implements IncomingRequest {
  readonly services: Services;
  readonly route: Route;
  readonly request: Request;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly disconnect: (() => unknown) | undefined;
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
  /** What the request ended with, if it was no good end, for log and metrics. */
  error: unknown;
  /** Whether the answer goes on after the handler has returned. */
  isStreaming = false;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #cleanups: (() => void)[] = [];
  readonly #onEnd: (context: RequestContext) => void;
  readonly #onClientGone = () => this.stop(clientGone());
  #isEnded = false;

  constructor(options: RequestContextOptions) {
    this.services = options.services;
    this.route = options.route;
    this.request = options.request;
    this.requestId = options.requestId;
    this.params = options.params;
    this.disconnect = options.disconnect;
    this.log = options.services.logger.child({ requestId: options.requestId });
    this.#onEnd = options.onEnd;
    const { requestTimeoutMs } = options.services.options;
    this.#timer = setTimeout(() => this.stop(timedOut(requestTimeoutMs)), requestTimeoutMs);
    // Each text of the request listens, and each input.
    setMaxListeners(0, this.#controller.signal);
    const { signal } = this.request;
    if (signal.aborted) this.#onClientGone();
    else signal.addEventListener('abort', this.#onClientGone);
  }

  /**
   * Fires when the client has gone, the time is up, or the request is stopped otherwise; all work on it ends with it. The
   * reason is an ApiError.
   */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * The model of this name, loaded if need be, and kept until the request ends.
   * @throws ApiError 404 for an unknown name, 500 when it cannot be loaded; the reason of the signal when it fires
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
    if (this.#isEnded) this.#run(cleanup);
    else this.#cleanups.push(cleanup);
  }

  /** Ends the work. What waits for it rejects, and the client is told the reason, if it is still there. */
  stop(reason: ApiError): void {
    this.error ??= reason;
    this.#controller.abort(reason);
  }

  /** What the client is told of an error. Work that still goes on is ended by it. */
  fail(error: unknown): ApiError {
    // Once stopped, whatever fails does so because of that.
    if (!this.signal.aborted) {
      this.error = error;
      this.stop(toApiError(error));
    }
    return this.signal.reason as ApiError;
  }

  /** Gives everything back. Safe to call twice. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.request.signal.removeEventListener('abort', this.#onClientGone);
    for (const cleanup of this.#cleanups.reverse()) this.#run(cleanup);
    this.#onEnd(this);
  }

  #run(cleanup: () => void): void {
    try {
      cleanup();
    } catch (error) {
      // The others have things to give back, too.
      this.log.error({ err: error }, 'something could not be given back');
    }
  }
}

/** 499 is what logs say of a client that has gone; nobody reads the answer. */
export function clientGone(): ApiError {
  return new ApiError('The client has gone.', { status: 499, code: 'client_gone' });
}

function timedOut(requestTimeoutMs: number): ApiError {
  return new ApiError(`The answer was not there after ${requestTimeoutMs} ms, and was stopped.`, {
    status: 504,
    code: 'timeout',
  });
}
