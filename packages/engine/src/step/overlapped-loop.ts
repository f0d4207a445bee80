import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoopParts } from './task-loop.ts';

/**
 * Runs the steps of the simple loop and uses the time that a step takes in the backend: consumers of tokens get their turn
 * while the next step runs, and where the step after it can be told already, it is chosen and laid out meanwhile.
 */
export async function overlappedLoop({ scheduler, runner, propose, plan, planNext }: LoopParts): Promise<void> {
  let next: ReturnType<typeof planNext>;
  while (scheduler.hasWork) {
    await propose();
    const step = next && scheduler.isStillNext(next.entries) ? next : plan();
    next = undefined;
    if (!step) {
      await nextTurn();
      continue;
    }
    const running = runner.run(step, () => {
      next = planNext(step);
    });
    await Promise.all([running, nextTurn()]);
  }
}
