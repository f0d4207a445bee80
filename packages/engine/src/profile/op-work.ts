import {
  type AttentionOp,
  isQuantizedDtype,
  type MoeMlpOp,
  type Op,
  opAccess,
  type Program,
  packedByteLength,
  tileRows,
  type View,
  type WeightDtype,
  type WeightId,
} from '@hearth/core';

/**
 * What an op has to move and to compute at least, in one step or added up over many: each byte counts once, however often a
 * kernel reads it.
 */
export interface OpWork {
  /** Weights, as they are packed. */
  readonly weightBytes: number;
  /** Keys and values that are read or written. */
  readonly cacheBytes: number;
  /** Rows of activations that are read and written, in f32. */
  readonly activationBytes: number;
  /** Multiply-adds of int8 activations with quantized weights, as two operations each. */
  readonly integerOps: number;
  /**
   * Multiply-adds of floats in products and in attention, as two operations each. What goes on in rows (norms, exp, the scales
   * of blocks) is not counted: no ceiling is measured for it.
   */
  readonly floatOps: number;
}

/** The tokens of a step. */
export interface StepShape {
  readonly numOutputRows: number;
  readonly sequences: readonly {
    /** Tokens of this step. */
    readonly numTokens: number;
    /** Positions that are in the cache once the step has run. */
    readonly contextLength: number;
  }[];
}

/** What the work depends on besides the program and the step. */
export interface StorageTypes {
  /** By weight id; those of vectors do not matter, which are f32 once they are loaded. */
  readonly weightDtypes: readonly WeightDtype[];
  /** Bytes of keys and values of one position, by cache layer. */
  readonly cacheBytesPerPosition: readonly number[];
}

/** What is absent is nothing. */
export function sumWork(parts: readonly Partial<OpWork>[]): OpWork {
  const sum = { weightBytes: 0, cacheBytes: 0, activationBytes: 0, integerOps: 0, floatOps: 0 };
  for (const part of parts) {
    for (const key of Object.keys(sum) as (keyof OpWork)[]) sum[key] += part[key] ?? 0;
  }
  return sum;
}

/**
 * The work of one op in a step. Of a `moe-mlp` the bytes of weights are an upper bound: they are those of as many experts as
 * the rows could have chosen.
 */
export function opWork(op: Op, program: Program, types: StorageTypes, step: StepShape): OpWork {
  return new WorkCounter(program, types, step).count(op);
}

class WorkCounter {
  readonly #program: Program;
  readonly #types: StorageTypes;
  readonly #step: StepShape;
  readonly #numTokens: number;

  constructor(program: Program, types: StorageTypes, step: StepShape) {
    this.#program = program;
    this.#types = types;
    this.#step = step;
    this.#numTokens = step.sequences.reduce((sum, { numTokens }) => sum + numTokens, 0);
  }

  count(op: Op): OpWork {
    const activationBytes = this.#activationBytes(op);
    // Without rows an op does nothing: the head, in a step that nobody wants logits of.
    return activationBytes === 0 ? sumWork([]) : sumWork([{ activationBytes }, ...this.#weightsAndProducts(op)]);
  }

  #numRows(view: View): number {
    return this.#program.buffers[view.buffer]!.rows === 'tokens' ? this.#numTokens : this.#step.numOutputRows;
  }

  #activationBytes(op: Op): number {
    if (op.kind === 'gather-rows') return 4 * this.#step.numOutputRows * (op.x.width + op.out.width);
    const { reads, writes } = opAccess(op);
    // A capture writes what it reads, to memory of its own.
    const views = op.kind === 'capture' ? [op.x, op.x] : [...reads, ...writes];
    return views.reduce((sum, view) => sum + 4 * this.#numRows(view) * view.width, 0);
  }

  #weightsAndProducts(op: Op): readonly Partial<OpWork>[] {
    switch (op.kind) {
      case 'embed':
        return [{ weightBytes: this.#numTokens * this.#rowBytes(op.weight) }];
      case 'rms-norm':
      case 'add-rms-norm':
        return [this.#vector(op.weight)];
      case 'layer-norm':
        return [this.#vector(op.weight), this.#vector(op.bias)];
      case 'linear': {
        const numRows = this.#numRows(op.x);
        const biases = op.biases.filter((bias) => bias !== null);
        return [
          ...op.weights.map((weight) => ({ weightBytes: this.#matrixBytes(weight) })),
          ...op.weights.map((weight) => this.#products(weight, numRows)),
          ...biases.map((bias) => this.#vector(bias)),
        ];
      }
      case 'write-cache':
        return [{ cacheBytes: this.#numTokens * this.#types.cacheBytesPerPosition[op.layer]! }];
      case 'attention':
        return [this.#attention(op)];
      case 'moe-mlp':
        return this.#experts(op);
      default:
        return [];
    }
  }

  /** Each query against each position that it sees: a score and a weighted value. Sequences share no positions. */
  #attention({ layer, numHeads, window }: AttentionOp): Partial<OpWork> {
    const visible = window ?? Number.POSITIVE_INFINITY;
    let numSeen = 0;
    let numPairs = 0;
    for (const { numTokens, contextLength } of this.#step.sequences) {
      const start = contextLength - numTokens;
      numSeen += contextLength - Math.max(0, start - visible + 1);
      for (let position = start; position < contextLength; position++) numPairs += Math.min(position + 1, visible);
    }
    return {
      cacheBytes: numSeen * this.#types.cacheBytesPerPosition[layer]!,
      floatOps: 2 * 2 * numHeads * this.#program.cacheLayers[layer]!.headDim * numPairs,
    };
  }

  #experts(op: MoeMlpOp): readonly Partial<OpWork>[] {
    const numRuns = this.#numRows(op.x) * op.numExpertsPerToken;
    const experts = op.gates.map((gate, e) => [gate, op.ups[e]!, op.downs[e]!]);
    const bytes = experts.map((weights) => weights.reduce((sum, weight) => sum + this.#matrixBytes(weight), 0));
    // The largest ones, should they differ in type.
    const chosen = bytes.sort((a, b) => b - a).slice(0, numRuns);
    // All have one shape; the first says for all whether the products are of integers.
    return [
      ...chosen.map((weightBytes) => ({ weightBytes })),
      ...experts[0]!.map((weight) => this.#products(weight, numRuns)),
    ];
  }

  #products(weight: WeightId, numRows: number): Partial<OpWork> {
    const [rows, columns] = this.#program.weights[weight]!.shape as [number, number];
    const operations = 2 * numRows * rows * columns;
    return isQuantizedDtype(this.#types.weightDtypes[weight]!) ? { integerOps: operations } : { floatOps: operations };
  }

  #matrixBytes(weight: WeightId): number {
    const [rows, columns] = this.#program.weights[weight]!.shape as [number, number];
    return packedByteLength(this.#types.weightDtypes[weight]!, rows, columns);
  }

  #rowBytes(weight: WeightId): number {
    const columns = this.#program.weights[weight]!.shape[1]!;
    return packedByteLength(this.#types.weightDtypes[weight]!, tileRows, columns) / tileRows;
  }

  #vector(weight: WeightId): Partial<OpWork> {
    return { weightBytes: 4 * this.#program.weights[weight]!.shape[0]! };
  }
}
