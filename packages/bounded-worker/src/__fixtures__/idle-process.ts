// A program that uses a worker and then just ends: it must exit although it never calls dispose().
import { BoundedWorker } from '../bounded-worker.ts';
import type { TestInit, TestMethods } from './test-worker.ts';

const worker = new BoundedWorker<TestMethods, TestInit>(new URL('./test-worker.ts', import.meta.url), {
  init: { greeting: 'Hello' },
  name: 'test',
  timeLimitMs: 300,
  outputLimit: 1000,
});
console.log(await worker.call('greet', 'idle'));
await worker.call('spin', undefined).catch((error) => console.log(error.code));
// The replacement thread is starting now, and must not hold the process either.
