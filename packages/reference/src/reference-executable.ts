import {
  type Batch,
  type CompileOptions,
  checkBatch,
  checkRowOutputs,
  countHeadRows,
  countOpsForHidden,
  DisposedError,
  type Executable,
  InvalidArgumentError,
  type KvCache,
  type OpTiming,
  type Program,
  type RowOutput,
  type StepOptions,
  type StepOutput,
  type StepResult,
  throwIfAborted,
} from '@hearth/core';
import { sampleFromRow } from '@hearth/sampler';
import { EventLoopTurn } from './event-loop-turn.ts';
import { ReferenceKvCache } from './kv-cache.ts';
import { logProbability } from './ops/log-probability.ts';
import type { BoundWeights } from './reference-weights.ts';
import { Arenas, copyRows } from './rows.ts';
import { runOp, type StepState } from './run-op.ts';

/** Runs a program op by op. */
export class ReferenceExecutable implements Executable {
  readonly program: Program;
  readonly #options: CompileOptions;
  readonly #weights: BoundWeights;
  readonly #cache: ReferenceKvCache;
  readonly #onDispose: () => void;
  readonly #numOpsForHidden: number;
  #arenas: Arenas | null;
  /** Settles when the running step has ended, however it ended. */
  #running: Promise<void> | null = null;
  #disposed = false;

  constructor(program: Program, weights: BoundWeights, options: CompileOptions, onDispose: () => void) {
    this.program = program;
    this.#options = options;
    this.#weights = weights;
    this.#onDispose = onDispose;
    this.#numOpsForHidden = countOpsForHidden(program);
    this.#arenas = new Arenas(program, { tokens: options.maxTokens, outputs: options.maxOutputRows });
    this.#cache = new ReferenceKvCache(program.cacheLayers, options.cache, () => this.#running);
  }

  get cache(): KvCache {
    return this.#cache;
  }

  async step(batch: Batch, options: StepOptions = {}): Promise<StepResult> {
    if (this.#disposed || !this.#arenas) throw new DisposedError('executable');
    if (this.#running) {
      throw new InvalidArgumentError('Another step is running. An executable runs one step at a time: await it first.');
    }
    throwIfAborted(options.signal);
    const { maxTokens, maxOutputRows, cache } = this.#options;
    checkBatch(batch, this.program, { maxTokens, maxOutputRows, ...cache });
    const output = options.output ?? { kind: 'logits' };
    if (output.kind === 'rows') checkRowOutputs(output.rows, batch.outputRows.length, this.program);

    const step = this.#run(batch, output, options, this.#arenas);
    this.#running = step.then(
      () => {},
      () => {},
    );
    try {
      return await step;
    } finally {
      this.#running = null;
    }
  }

  async #run(batch: Batch, output: StepOutput, options: StepOptions, arenas: Arenas): Promise<StepResult> {
    const { program } = this;
    const state: StepState = {
      program,
      weights: this.#weights,
      arenas,
      cache: this.#cache,
      batch,
      numRows: { tokens: batch.tokenIds.length, outputs: batch.outputRows.length },
      captures: new Map(),
      turn: new EventLoopTurn(options.signal),
    };
    const numHeadRows = countHeadRows(output, state.numRows.outputs);
    const headState = { ...state, numRows: { ...state.numRows, outputs: numHeadRows } };
    const profile: OpTiming[] = [];
    for (const [index, op] of program.ops.entries()) {
      throwIfAborted(options.signal);
      if (state.turn.isOver) await state.turn.pass();
      const start = options.profile ? performance.now() : 0;
      await runOp(op, index < this.#numOpsForHidden ? state : headState);
      if (options.profile) profile.push({ op: index, nanoseconds: Math.round((performance.now() - start) * 1e6) });
    }
    return {
      ...(await this.#outputs(output, state)),
      ...(program.captures.length > 0 ? { captures: state.captures } : {}),
      ...(options.profile ? { profile } : {}),
    };
  }

  async #outputs(output: StepOutput, { arenas, numRows, turn }: StepState): Promise<StepResult> {
    const { hidden, hiddenSize, logits: logitsView, vocabSize } = this.program;
    const numHeadRows = countHeadRows(output, numRows.outputs);
    const hiddenRows = () => copyRows(arenas.rows(hidden), numRows.outputs).subarray(numHeadRows * hiddenSize);
    if (output.kind === 'hidden') return { hidden: hiddenRows() };
    const logits = copyRows(arenas.rows(logitsView), numHeadRows);
    if (output.kind !== 'rows') return { logits };
    const reduced = {
      logprobs: new Float32Array(numRows.outputs).fill(Number.NaN),
      argmax: new Int32Array(numRows.outputs).fill(-1),
      sampled: new Int32Array(numRows.outputs).fill(-1),
    };
    for (const [r, row] of output.rows.entries()) {
      if (turn.isOver) await turn.pass();
      reduceRow(logits.subarray(r * vocabSize, (r + 1) * vocabSize), row, r, reduced);
    }
    return { logits, ...reduced, ...(numHeadRows < numRows.outputs && { hidden: hiddenRows() }) };
  }

  async dispose(): Promise<void> {
    const first = !this.#disposed;
    this.#disposed = true;
    await this.#running;
    if (!first) return;
    this.#arenas = null;
    this.#cache.free();
    this.#weights.release();
    this.#onDispose();
  }
}

/** What is asked of one output row, into its place `r` of the step's results. */
function reduceRow(
  logits: Float32Array,
  row: RowOutput,
  r: number,
  { logprobs, argmax, sampled }: { logprobs: Float32Array; argmax: Int32Array; sampled: Int32Array },
): void {
  if (row.kind === 'sample') {
    sampled[r] = sampleFromRow(logits, row);
  } else if (row.kind === 'logprob') {
    const score = logProbability(logits, row.tokenId);
    logprobs[r] = score.logprob;
    argmax[r] = score.argmax;
  }
}
