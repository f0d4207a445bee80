import { InvalidArgumentError } from '@hearth/core';

/** What a constraint may cost. What exceeds it is refused, and the thread that it ran in is replaced. */
export interface ConstraintLimits {
  /** Longest constraint as JSON text, in UTF-16 units; default 262,144. */
  readonly sourceLength?: number | undefined;
  /** Longest compilation, in milliseconds; default 5000. */
  readonly compileTimeMs?: number | undefined;
  /** Longest making of the masks for one step, in milliseconds; default 2000. */
  readonly maskTimeMs?: number | undefined;
  /** Most WebAssembly memory of a thread, with its vocabulary and everything that it keeps, in MiB; default 512. */
  readonly memoryMiB?: number | undefined;
  /** Compiled constraints that are kept for the next request; default 64. */
  readonly numCached?: number | undefined;
}

export const defaultLimits: Readonly<Record<keyof ConstraintLimits, number>> = {
  sourceLength: 262_144,
  compileTimeMs: 5000,
  maskTimeMs: 2000,
  memoryMiB: 512,
  numCached: 64,
};

/** @throws InvalidArgumentError for a limit that is no whole number from 1, or unknown */
export function resolveLimits(limits: ConstraintLimits): Readonly<Record<keyof ConstraintLimits, number>> {
  const resolved = { ...defaultLimits };
  for (const [name, value] of Object.entries(limits) as [keyof ConstraintLimits, unknown][]) {
    if (!Object.hasOwn(defaultLimits, name)) {
      throw new InvalidArgumentError(`limits has no ${name}; there are ${Object.keys(defaultLimits).join(', ')}.`);
    }
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || (value as number) < 1) {
      throw new InvalidArgumentError(`limits.${name} must be a whole number from 1, but it is ${value}.`);
    }
    resolved[name] = value as number;
  }
  return resolved;
}
