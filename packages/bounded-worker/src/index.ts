export { BoundedWorker, type BoundedWorkerOptions, type CallOptions, type CallResult } from './bounded-worker.ts';
export type { ErrorReviver } from './serialize-error.ts';
export { serve, type WithTransfer, type WorkerMethods, withTransfer } from './serve.ts';
export { WorkerFailedError } from './worker-failed-error.ts';
export { workerUrl } from './worker-url.ts';
