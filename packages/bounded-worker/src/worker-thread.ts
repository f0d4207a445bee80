import { type TransferListItem, Worker, type WorkerOptions } from 'node:worker_threads';
import { InvalidArgumentError, LimitExceededError } from '@hearth/core';
import type { WorkerReply, WorkerRequest } from './protocol.ts';
import { WorkerFailedError } from './worker-failed-error.ts';
import { isTypeScript } from './worker-url.ts';

/** What the owner of a thread is told. After `onLost` the thread is gone and says nothing more. */
export interface WorkerThreadEvents {
  onReply(reply: WorkerReply): void;
  /** The thread ended by itself: heap limit, uncaught error, or an exit of its own. */
  onLost(error: LimitExceededError | WorkerFailedError): void;
}

/** One life of a worker thread, from start to end. `BoundedWorker` owns at most one that is alive. */
export class WorkerThread {
  /** True between the `ready` reply and the end. Set by the owner. */
  isReady = false;
  readonly #worker: Worker;
  #isOver = false;

  constructor(url: URL, name: string, heapLimitMiB: number | undefined, events: WorkerThreadEvents) {
    this.#worker = new Worker(...workerArguments(url, name, heapLimitMiB));
    this.unref();
    const lose = (error: LimitExceededError | WorkerFailedError) => {
      if (this.#isOver) return;
      this.#isOver = true;
      events.onLost(error);
    };
    this.#worker.on('message', (reply: WorkerReply) => {
      if (!this.#isOver) events.onReply(reply);
    });
    this.#worker.on('messageerror', (error) => lose(failed(name, `sent a message that cannot be read`, error)));
    this.#worker.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') lose(heapExceeded(name, heapLimitMiB));
      else lose(failed(name, `ended with ${error.name}: ${error.message}`, error));
    });
    this.#worker.on('exit', (exitCode) => lose(failed(name, `ended by itself with exit code ${exitCode}`)));
  }

  /** Throws `DataCloneError` when the message holds something that cannot be cloned. */
  post(request: WorkerRequest, transfer: readonly TransferListItem[] = []): void {
    this.#worker.postMessage(request, transfer);
  }

  /** While referenced, the thread keeps the process alive. */
  ref(): void {
    this.#worker.ref();
  }

  unref(): void {
    this.#worker.unref();
  }

  /** Ends the thread wherever it is, also inside an endless loop. No event follows. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#worker.terminate();
  }
}

function workerArguments(url: URL, name: string, heapLimitMiB: number | undefined): [URL, WorkerOptions] {
  // The parent's own flags (a test runner's, a debugger's) are not for this thread.
  const options: WorkerOptions = { name, execArgv: [] };
  if (heapLimitMiB !== undefined) options.resourceLimits = { maxOldGenerationSizeMb: heapLimitMiB };
  if (!isTypeScript(url.href)) return [url, options];
  if (!isTypeScript(import.meta.url)) {
    throw new InvalidArgumentError(
      `${url.href} is a TypeScript source, which a worker thread does not load. Build it and pass the URL of the built file.`,
      { details: { url: url.href } },
    );
  }
  return [new URL('./source-worker.mjs', import.meta.url), { ...options, workerData: { hearthWorkerUrl: url.href } }];
}

function heapExceeded(name: string, heapLimitMiB: number | undefined): LimitExceededError {
  return new LimitExceededError(
    `The ${name} worker needed more memory than its limit of ${heapLimitMiB ?? 'the default'} MiB and was ended.`,
    { details: { limit: 'heap', heapLimitMiB, worker: name } },
  );
}

function failed(name: string, what: string, cause?: unknown): WorkerFailedError {
  return new WorkerFailedError(`The ${name} worker ${what}.`, { details: { worker: name }, cause });
}
