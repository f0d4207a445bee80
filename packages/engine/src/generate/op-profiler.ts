import type { OpTiming, Program } from '@hearth/core';
import type { OpProfile } from './generation.ts';

/** Adds up the op times of many steps. */
export class OpProfiler {
  readonly #program: Program;
  readonly #calls: number[];
  readonly #nanoseconds: number[];

  constructor(program: Program) {
    this.#program = program;
    this.#calls = program.ops.map(() => 0);
    this.#nanoseconds = program.ops.map(() => 0);
  }

  add(step: readonly OpTiming[]): void {
    for (const { op, nanoseconds } of step) {
      this.#calls[op]!++;
      this.#nanoseconds[op]! += nanoseconds;
    }
  }

  /** One entry per op of the program, in its order. */
  report(): OpProfile[] {
    return this.#program.ops.map(({ name, kind }, op) => ({
      name,
      kind,
      calls: this.#calls[op]!,
      nanoseconds: this.#nanoseconds[op]!,
    }));
  }
}
