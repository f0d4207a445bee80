import type { SerializedError } from './serialize-error.ts';

/** What the main thread sends to the worker: first one `init`, then one `call` at a time. */
export type WorkerRequest =
  | { kind: 'init'; init: unknown }
  | { kind: 'call'; id: number; method: string; input: unknown; outputLimit: number };

/** What the worker answers: `ready` or `init-failed` to the init message, `result` or `error` to a call. */
export type WorkerReply =
  | { kind: 'ready' }
  | { kind: 'init-failed'; error: SerializedError }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; error: SerializedError };
