import { parentPort, type TransferListItem } from 'node:worker_threads';
import { LimitExceededError } from '@hearth/core';
import { measure } from './measure.ts';
import type { WorkerReply, WorkerRequest } from './protocol.ts';
import { serializeError } from './serialize-error.ts';

/** The methods of a worker, by name: each takes one value that can be cloned and gives one, or a promise of one. */
// `any` because a table of methods with different inputs has no narrower common type; `BoundedWorker.call` restores it.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type WorkerMethods = Record<string, (input: any) => unknown>;

const transferMark = Symbol('hearth.transfer');

/** Result of a method whose buffers are moved to the caller instead of copied. Make one with `withTransfer`. */
export interface WithTransfer<T> {
  readonly [transferMark]: readonly TransferListItem[];
  readonly value: T;
}

/** Lets a worker method hand over buffers without a copy: `return withTransfer(ids, [ids.buffer])`. */
export function withTransfer<T>(value: T, transfer: readonly TransferListItem[]): WithTransfer<T> {
  return { [transferMark]: transfer, value };
}

/**
 * Turns a worker file into the other side of a `BoundedWorker`. Call it once, at the top level of the file.
 *
 * `create` receives the init value and returns the methods; whatever they share lives in its closure. It runs again in
 * each replacement thread, so it must depend on the init value alone. Errors that it or a method throws reach the caller
 * with code, message and details.
 */
export function serve<Init, Methods extends WorkerMethods>(create: (init: Init) => Methods | Promise<Methods>): void {
  const port = parentPort;
  if (port === null) throw new Error('serve() works in a worker thread only; start this file through BoundedWorker.');
  let methods: Methods | undefined;

  const reply = (message: WorkerReply, transfer: readonly TransferListItem[] = []) =>
    port.postMessage(message, transfer);

  const start = async (init: Init) => {
    try {
      methods = await create(init);
      reply({ kind: 'ready' });
    } catch (error) {
      reply({ kind: 'init-failed', error: serializeError(error) });
    }
  };

  const call = async ({ id, method, input, outputLimit }: Extract<WorkerRequest, { kind: 'call' }>) => {
    try {
      const run = methods !== undefined && Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (run === undefined) throw new Error(`There is no method ${method}().`);
      const output = await run(input);
      const transferred = isWithTransfer(output);
      const value = transferred ? output.value : output;
      checkSize(value, method, outputLimit);
      reply({ kind: 'result', id, value }, transferred ? output[transferMark] : []);
    } catch (error) {
      reply({ kind: 'error', id, error: serializeError(error) });
    }
  };

  port.on('message', (request: WorkerRequest) => {
    if (request.kind === 'init') void start(request.init as Init);
    else void call(request);
  });
}

function isWithTransfer(value: unknown): value is WithTransfer<unknown> {
  return typeof value === 'object' && value !== null && transferMark in value;
}

function checkSize(value: unknown, method: string, outputLimit: number): void {
  if (measure(value, outputLimit) <= outputLimit) return;
  throw new LimitExceededError(
    `${method}() made more output than its limit of ${outputLimit} characters or bytes. Nothing of it was kept.`,
    { details: { limit: 'output', outputLimit, method } },
  );
}
