import type { RankedTask } from './rank.ts';
import type { Task } from './task.ts';

/**
 * Leaves out tasks whose next block is about to be computed by one before them: they take it from the prefix cache then, and
 * prompts that begin alike are computed once, also when they come together.
 *
 * @param running in the order of their rank
 */
export function withoutFollowers(running: readonly RankedTask[], blockSize: number): RankedTask[] {
  const leaders: Task[] = [];
  return running.filter(({ task }) => {
    if (task.upTo - task.sequence.numCachedTokens <= 1) return true;
    if (leaders.some((leader) => computesNextBlockOf(leader, task, blockSize))) return false;
    leaders.push(task);
    return true;
  });
}

/** Whether `leader` is at work on the block that `task` needs next, with the same tokens up to its end. */
function computesNextBlockOf(leader: Task, task: Task, blockSize: number): boolean {
  const { tokenIds, numCachedTokens, cacheSalt } = task.sequence;
  const end = (Math.floor(numCachedTokens / blockSize) + 1) * blockSize;
  const isAtWork = leader.sequence.numCachedTokens >= numCachedTokens && leader.sequence.numCachedTokens < end;
  const isOfUse = end <= leader.upTo && end <= Math.min(task.outputFrom, task.upTo);
  if (!isAtWork || !isOfUse || leader.sequence.cacheSalt !== cacheSalt) return false;
  for (let i = 0; i < end; i++) if (leader.sequence.tokenIds[i] !== tokenIds[i]) return false;
  return true;
}
