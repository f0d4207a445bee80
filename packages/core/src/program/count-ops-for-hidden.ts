import { opAccess } from './op-access.ts';
import type { Program } from './program.ts';

/**
 * How many leading ops a step needs that wants hidden rows only: those up to the last one that writes the hidden rows, the
 * cache or a capture. What follows is the head.
 */
export function countOpsForHidden({ ops, hidden }: Pick<Program, 'ops' | 'hidden'>): number {
  const isNeeded = ops.map(
    (op) =>
      op.kind === 'write-cache' ||
      op.kind === 'capture' ||
      opAccess(op).writes.some(({ buffer }) => buffer === hidden.buffer),
  );
  return isNeeded.lastIndexOf(true) + 1;
}
