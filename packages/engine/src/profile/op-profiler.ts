import type { Batch, Op, OpTiming, Program } from '@hearth/core';
import { type OpWork, opWork, type StepShape, type StorageTypes, sumWork } from './op-work.ts';

/** Time and work of one op of the program over some steps. */
export interface OpProfile {
  /** The boundary that it produces: `model.layers.0.mlp.down_proj`. */
  readonly name: string;
  readonly kind: Op['kind'];
  /** Steps that it ran in. */
  readonly calls: number;
  readonly nanoseconds: number;
  readonly work: OpWork;
}

/** Profiles of a generation, each in the order of the program. */
export interface GenerateProfile {
  /** Of the steps up to the first token. */
  readonly prefill: readonly OpProfile[];
  /** Of those after it. */
  readonly decode: readonly OpProfile[];
}

/** Adds up the times and the work of the ops of many steps. Made only where a profile was asked for. */
export class OpProfiler {
  readonly #program: Program;
  readonly #types: StorageTypes;
  readonly #calls: number[];
  readonly #nanoseconds: number[];
  readonly #work: OpWork[];

  constructor(program: Program, types: StorageTypes) {
    this.#program = program;
    this.#types = types;
    this.#calls = program.ops.map(() => 0);
    this.#nanoseconds = program.ops.map(() => 0);
    this.#work = program.ops.map(() => sumWork([]));
  }

  add(timings: readonly OpTiming[], batch: Batch): void {
    const step = stepShape(batch);
    for (const { op, nanoseconds } of timings) {
      this.#calls[op]!++;
      this.#nanoseconds[op]! += nanoseconds;
      this.#work[op] = sumWork([this.#work[op]!, opWork(this.#program.ops[op]!, this.#program, this.#types, step)]);
    }
  }

  /** One entry per op of the program, in its order. */
  report(): OpProfile[] {
    return this.#program.ops.map(({ name, kind }, op) => ({
      name,
      kind,
      calls: this.#calls[op]!,
      nanoseconds: this.#nanoseconds[op]!,
      work: this.#work[op]!,
    }));
  }
}

/** Profiles the phases of a generation apart. */
export class GenerationProfiler {
  readonly prefill: OpProfiler;
  readonly decode: OpProfiler;

  constructor(program: Program, types: StorageTypes) {
    this.prefill = new OpProfiler(program, types);
    this.decode = new OpProfiler(program, types);
  }

  report(): GenerateProfile {
    return { prefill: this.prefill.report(), decode: this.decode.report() };
  }
}

function stepShape({ cuSeqlensQ, contextLens, outputRows }: Batch): StepShape {
  return {
    numOutputRows: outputRows.length,
    sequences: Array.from(contextLens, (contextLength, s) => ({
      numTokens: cuSeqlensQ[s + 1]! - cuSeqlensQ[s]!,
      contextLength,
    })),
  };
}
