import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoopParts } from './task-loop.ts';

/**
 * Choose a step, run it, hand out the results; one after the other. What the overlapped loop is held to: the same tasks give
 * the same steps there.
 */
export async function simpleLoop({ scheduler, runner, propose, plan }: LoopParts): Promise<void> {
  while (scheduler.hasWork) {
    await propose();
    const step = plan();
    if (step) await runner.run(step);
    // Timers and I/O get a turn between any two steps, also with a backend that never leaves the microtask queue.
    await nextTurn();
  }
}
