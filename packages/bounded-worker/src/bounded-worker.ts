import type { TransferListItem } from 'node:worker_threads';
import { AbortError, DisposedError, type HearthError, InvalidArgumentError, LimitExceededError } from '@hearth/core';
import type { WorkerReply } from './protocol.ts';
import { type ErrorReviver, reviveError } from './serialize-error.ts';
import type { WithTransfer, WorkerMethods } from './serve.ts';
import { WorkerThread } from './worker-thread.ts';

/** Limits and names of a `BoundedWorker`. */
export interface BoundedWorkerOptions<Init> {
  /** Sent to every thread before its first call. Kept for replacements, so make it no larger than it has to be. */
  init: Init;
  /** Name in messages and in debuggers, e.g. `tokenizer`. */
  name: string;
  /** Longest run of one call, in milliseconds, without waiting and without the thread's start. */
  timeLimitMs: number;
  /** Largest result of one call: UTF-16 code units of strings, bytes of buffers, 8 for any other value. */
  outputLimit: number;
  /**
   * Limit of the JavaScript heap, in MiB. It catches many small allocations; a single one that is larger than what is
   * left ends the whole process (a property of V8), so code in the worker must bound its single allocations itself.
   */
  heapLimitMiB?: number;
  /** Longest start of a thread until its init is done, in milliseconds; default 60,000. */
  startLimitMs?: number;
  /** Rebuilds error classes of the caller's own from their code. Those of `@hearth/core` need none. */
  reviveError?: ErrorReviver;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborting takes the call out of the queue, or ends the thread that runs it. */
  signal?: AbortSignal | undefined;
  /** Overrides the worker's limit for this call. */
  timeLimitMs?: number | undefined;
  /** Overrides the worker's limit for this call. */
  outputLimit?: number | undefined;
  /** Buffers of the input that are moved instead of copied. */
  transfer?: readonly TransferListItem[];
}

/** What a method gives the caller: awaited, and without the transfer wrapper. */
export type CallResult<Method extends (input: never) => unknown> =
  Awaited<ReturnType<Method>> extends WithTransfer<infer T> ? T : Awaited<ReturnType<Method>>;

interface Job {
  method: string;
  input: unknown;
  options: CallOptions;
  resolve(value: unknown): void;
  reject(error: HearthError): void;
  /** Removes the abort listener. */
  release(): void;
}

const defaultStartLimitMs = 60_000;
/** `setTimeout` fires at once above this. */
const maxTimeoutMs = 2 ** 31 - 1;

/**
 * Runs synchronous library code in a worker thread that is ended and replaced when a call exceeds its limit of time,
 * output or heap, or is aborted. Calls run one at a time, in the order in which they were made; the calls behind an ended
 * one run in the replacement, which is initialised with the same init value.
 *
 * The thread starts with the first call. Between calls it sleeps and does not keep the process alive.
 */
export class BoundedWorker<Methods extends WorkerMethods, Init = undefined> {
  readonly #url: URL;
  readonly #options: BoundedWorkerOptions<Init>;
  readonly #queue: Job[] = [];
  /** Threads that were told to end and have not confirmed it yet. */
  readonly #ending = new Set<Promise<void>>();
  #current: Job | undefined;
  #thread: WorkerThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastCallId = 0;
  #disposed: Promise<void> | undefined;

  constructor(url: URL, options: BoundedWorkerOptions<Init>) {
    checkLimits(options);
    if (options.startLimitMs !== undefined) checkTimeLimit('startLimitMs', options.startLimitMs);
    this.#url = url;
    this.#options = options;
  }

  /**
   * Runs one method in the worker. Rejects with `LimitExceededError`, `AbortError`, `DisposedError`, with whatever
   * `HearthError` the method threw, or with `WorkerFailedError` when it failed in an unforeseen way.
   */
  call<Name extends keyof Methods & string>(
    method: Name,
    input: Parameters<Methods[Name]>[0],
    options: CallOptions = {},
  ): Promise<CallResult<Methods[Name]>> {
    return new Promise((resolve, reject) => {
      checkLimits(options);
      if (this.#disposed !== undefined) throw new DisposedError(`${this.#options.name} worker`);
      const { signal } = options;
      if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
      const onAbort = () => this.#abort(job);
      const job: Job = {
        method,
        input,
        options,
        resolve: resolve as (value: unknown) => void,
        reject,
        release: () => signal?.removeEventListener('abort', onAbort),
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(job);
      this.#pump();
    });
  }

  /** Ends the thread and rejects every open call with `DisposedError`. Safe at any moment and as often as you like. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  async #end(): Promise<void> {
    // A turn later, so that `#disposed` is set before anybody hears of it.
    await Promise.resolve();
    const open = [...(this.#current === undefined ? [] : [this.#current]), ...this.#queue];
    this.#current = undefined;
    this.#queue.length = 0;
    this.#endThread();
    for (const job of open) rejectJob(job, new DisposedError(`${this.#options.name} worker`));
    await Promise.all(this.#ending);
  }

  /** Starts the next call if there is one and the thread is free; starts the thread if there is none. */
  #pump(): void {
    if (this.#disposed !== undefined || this.#current !== undefined) return;
    if (this.#queue.length === 0) {
      this.#thread?.unref();
      return;
    }
    if (this.#thread === undefined) this.#startThread();
    const thread = this.#thread;
    thread?.ref();
    if (thread === undefined || !thread.isReady) return;
    const job = this.#queue.shift() as Job;
    this.#current = job;
    this.#run(thread, job);
  }

  #run(thread: WorkerThread, job: Job): void {
    const id = ++this.#lastCallId;
    const { method, input, options } = job;
    const outputLimit = options.outputLimit ?? this.#options.outputLimit;
    const timeLimitMs = options.timeLimitMs ?? this.#options.timeLimitMs;
    try {
      thread.post({ kind: 'call', id, method, input, outputLimit }, options.transfer);
    } catch (error) {
      this.#finish((job) => job.reject(notCloneable(`The input of ${method}()`, error)));
      return;
    }
    this.#timer = setTimeout(() => {
      this.#endThread();
      this.#finish((job) => job.reject(timeExceeded(this.#options.name, method, timeLimitMs)));
      this.#startThread();
    }, timeLimitMs);
  }

  #onReply(thread: WorkerThread, reply: WorkerReply): void {
    if (thread !== this.#thread) return;
    const { name, reviveError: reviver } = this.#options;
    switch (reply.kind) {
      case 'ready':
        clearTimeout(this.#timer);
        thread.isReady = true;
        this.#pump();
        return;
      case 'init-failed':
        this.#endThread();
        this.#rejectAll(reviveError(reply.error, `The start of the ${name} worker`, reviver));
        return;
      case 'result':
        if (reply.id === this.#lastCallId) this.#finish((job) => job.resolve(reply.value));
        return;
      case 'error': {
        const error = reviveError(reply.error, `The ${name} worker`, reviver);
        if (reply.id === this.#lastCallId) this.#finish((job) => job.reject(error));
      }
    }
  }

  #onLost(thread: WorkerThread, error: HearthError): void {
    if (thread !== this.#thread) return;
    clearTimeout(this.#timer);
    this.#thread = undefined;
    if (this.#current === undefined) {
      // It never got ready, or died idle. A dead idle thread is simply started again by the next call.
      if (!thread.isReady) this.#rejectAll(error);
    } else {
      this.#finish((job) => job.reject(error));
    }
  }

  #abort(job: Job): void {
    const error = new AbortError(undefined, { cause: job.options.signal?.reason });
    if (job === this.#current) {
      this.#endThread();
      this.#finish((current) => current.reject(error));
      this.#startThread();
      return;
    }
    const index = this.#queue.indexOf(job);
    if (index >= 0) this.#queue.splice(index, 1);
    rejectJob(job, error);
    this.#pump();
  }

  /** Closes the running call and goes on with the next. */
  #finish(settle: (job: Job) => void): void {
    clearTimeout(this.#timer);
    const job = this.#current;
    this.#current = undefined;
    if (job !== undefined) {
      job.release();
      settle(job);
    }
    this.#pump();
  }

  /** A thread that cannot start fails every call that waits for it: the next ones would meet the same. */
  #rejectAll(error: HearthError): void {
    for (const job of this.#queue.splice(0)) rejectJob(job, error);
  }

  #startThread(): void {
    if (this.#disposed !== undefined || this.#thread !== undefined) return;
    const { init, name, heapLimitMiB, startLimitMs = defaultStartLimitMs } = this.#options;
    const thread: WorkerThread = new WorkerThread(this.#url, name, heapLimitMiB, {
      onReply: (reply) => this.#onReply(thread, reply),
      onLost: (error) => this.#onLost(thread, error),
    });
    this.#thread = thread;
    // Unreferenced: the thread itself keeps the process alive while a call waits for it.
    this.#timer = setTimeout(() => {
      this.#endThread();
      this.#rejectAll(
        new LimitExceededError(`The ${name} worker was not ready within its limit of ${startLimitMs} ms.`, {
          details: { limit: 'start', startLimitMs, worker: name },
        }),
      );
    }, startLimitMs);
    this.#timer.unref();
    try {
      thread.post({ kind: 'init', init });
    } catch (error) {
      this.#endThread();
      this.#rejectAll(notCloneable(`The init value of the ${name} worker`, error));
    }
  }

  #endThread(): void {
    clearTimeout(this.#timer);
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#thread = undefined;
    const ended = thread.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

function rejectJob(job: Job, error: HearthError): void {
  job.release();
  job.reject(error);
}

function checkLimits({
  timeLimitMs,
  outputLimit,
}: {
  timeLimitMs?: number | undefined;
  outputLimit?: number | undefined;
}): void {
  if (timeLimitMs !== undefined) checkTimeLimit('timeLimitMs', timeLimitMs);
  if (outputLimit !== undefined && !(outputLimit >= 0)) {
    throw new InvalidArgumentError(`outputLimit must be a number of characters or bytes, but it is ${outputLimit}.`);
  }
}

function checkTimeLimit(name: string, value: number): void {
  if (value > 0 && value <= maxTimeoutMs) return;
  throw new InvalidArgumentError(`${name} must be between 1 and ${maxTimeoutMs} milliseconds, but it is ${value}.`);
}

function timeExceeded(name: string, method: string, timeLimitMs: number): LimitExceededError {
  return new LimitExceededError(
    `${method}() in the ${name} worker ran longer than its limit of ${timeLimitMs} ms and was ended. Shorten the input or raise timeLimitMs.`,
    { details: { limit: 'time', timeLimitMs, method, worker: name } },
  );
}

function notCloneable(what: string, cause: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `${what} holds something that cannot be sent to a worker: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
}
