import {
  AbortError,
  type Backend,
  type BackendInfo,
  type Batch,
  type CompileOptions,
  checkBatch,
  checkRowOutputs,
  countHeadRows,
  DisposedError,
  type Executable,
  type FileMapper,
  InvalidArgumentError,
  InvalidModelError,
  type LoadWeightsOptions,
  type Program,
  type RowOutput,
  type StepOptions,
  type StepOutput,
  type StepResult,
  throwIfAborted,
  UnsupportedError,
  type WeightSource,
  type WeightSpec,
  type Weights,
} from '@hearth/core';
import { rowLogprobs, sampleFromRow } from '@hearth/sampler';
import { FakeCache } from './fake-cache.ts';
import { fakeHiddenSize } from './fake-program.ts';

/** The token that follows a context, or the whole row of logits. */
export type FakeModelFunction = (context: readonly number[]) => number | Float32Array;

export interface FakeBackendOptions {
  /** Called for every wanted row with the tokens that it sees, which are read out of the paged cache. */
  readonly next: FakeModelFunction;
  /** The hidden row of a context, [hiddenSize] of the program. Default: numbers that depend on all of its tokens. */
  readonly hidden?: ((context: readonly number[]) => Float32Array) | undefined;
  readonly fileMapper?: FileMapper;
  /** Whether its steps sample (`BackendInfo.canSampleInStep`). Default: false. */
  readonly canSampleInStep?: boolean;
}

/**
 * A backend whose "model" is a function from tokens to the next token, for tests of everything above the Backend interface.
 *
 * It keeps the contract that real backends keep (one step at a time, batches checked, abort, disposal order) and its
 * cache holds token ids, so a mistake in block tables, truncation or recomputation changes what is generated.
 */
export class FakeBackend implements Backend {
  readonly info: BackendInfo;
  readonly fileMapper: FileMapper;
  readonly next: FakeModelFunction;
  readonly hidden: (context: readonly number[]) => Float32Array;
  /** Every batch that was run, in order, whether or not the step succeeded. */
  readonly batches: Batch[] = [];
  /** How many steps were measured. */
  profiled = 0;
  /** Runs before each step; the step waits for it and fails with what it throws. */
  beforeStep: ((batch: Batch) => unknown) | undefined;
  /** Told of every step that was ended by its signal. */
  onStepAbort: (() => void) | undefined;
  /** Runs while weights are loaded. */
  beforeLoad: (() => unknown) | undefined;
  readonly live = { executables: 0, weights: 0 };
  isDisposed = false;

  constructor(options: FakeBackendOptions) {
    this.next = options.next;
    this.hidden = options.hidden ?? hashedRow;
    this.info = {
      kind: 'reference',
      variant: 'fake',
      numThreads: 1,
      weightDtypes: ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1'],
      cacheDtypes: ['f32', 'f16'],
      canSampleInStep: options.canSampleInStep ?? false,
    };
    this.fileMapper = options.fileMapper ?? {
      open: async (path) => {
        throw new InvalidModelError(`The fake backend has no files, so it cannot open ${path}.`);
      },
    };
  }

  async loadWeights(
    specs: readonly WeightSpec[],
    sources: ReadonlyMap<string, WeightSource>,
    options: LoadWeightsOptions = {},
  ): Promise<Weights> {
    const missing = specs.find((spec) => !sources.has(spec.name));
    if (missing) throw new InvalidModelError(`The weight ${missing.name} is missing.`);
    const totalBytes = specs.reduce((sum, spec) => sum + sources.get(spec.name)!.byteLength, 0);
    options.onProgress?.({ doneBytes: 0, totalBytes });
    await abortable(this.beforeLoad?.(), options.signal);
    options.onProgress?.({ doneBytes: totalBytes, totalBytes });
    this.live.weights++;
    let isDisposed = false;
    return {
      packedBytes: totalBytes,
      sourceBytes: totalBytes,
      dispose: async () => {
        if (isDisposed) return;
        if (this.live.executables > 0) throw new Error('Weights are disposed before the executables made from them.');
        isDisposed = true;
        this.live.weights--;
      },
    };
  }

  async compile(program: Program, _weights: Weights, options: CompileOptions): Promise<Executable> {
    if (this.isDisposed) throw new DisposedError('backend');
    this.live.executables++;
    return new FakeExecutable(this, program, options);
  }

  async dispose(): Promise<void> {
    if (this.live.executables > 0 || this.live.weights > 0)
      throw new Error('The backend is disposed before its weights.');
    this.isDisposed = true;
  }
}

/** What every op takes when a step is measured. */
const fakeOpNanoseconds = 7;

class FakeExecutable implements Executable {
  readonly program: Program;
  readonly cache: FakeCache;
  readonly #backend: FakeBackend;
  readonly #options: CompileOptions;
  #running: Promise<unknown> | undefined;
  #isDisposed = false;

  constructor(backend: FakeBackend, program: Program, options: CompileOptions) {
    this.#backend = backend;
    this.program = program;
    this.#options = options;
    this.cache = new FakeCache(options.cache);
  }

  async step(batch: Batch, options: StepOptions = {}): Promise<StepResult> {
    if (this.#isDisposed) throw new DisposedError('executable');
    if (this.#running) throw new InvalidArgumentError('Another step is running.');
    checkBatch(batch, this.program, { ...this.#options, ...this.#options.cache });
    const output = options.output ?? { kind: 'logits' };
    if (output.kind === 'rows') {
      checkRowOutputs(output.rows, batch.outputRows.length, this.program);
      if (!this.#backend.info.canSampleInStep && output.rows.some(({ kind }) => kind === 'sample')) {
        throw new UnsupportedError('The fake backend samples only when it was made with canSampleInStep.');
      }
    }
    const running = this.#run(batch, options.signal);
    this.#running = running;
    try {
      const contexts = await running;
      const result = this.#results(contexts, output);
      if (!options.profile) return result;
      this.#backend.profiled++;
      return { ...result, profile: this.program.ops.map((_, op) => ({ op, nanoseconds: fakeOpNanoseconds })) };
    } finally {
      this.#running = undefined;
    }
  }

  async dispose(): Promise<void> {
    await this.#running?.catch(() => {});
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#backend.live.executables--;
  }

  /** The tokens that each output row sees. */
  async #run(batch: Batch, signal: AbortSignal | undefined): Promise<readonly (readonly number[])[]> {
    this.#backend.batches.push(batch);
    signal?.addEventListener('abort', () => this.#backend.onStepAbort?.());
    await abortable(this.#backend.beforeStep?.(batch), signal);
    this.cache.writeTokens(batch);
    return Array.from(batch.outputRows, (row) => {
      const s = batch.cuSeqlensQ.findIndex((start, i) => start <= row && row < batch.cuSeqlensQ[i + 1]!);
      return this.cache.readContext(batch, s, batch.positions[row]!);
    });
  }

  #results(contexts: readonly (readonly number[])[], output: StepOutput): StepResult {
    const { vocabSize, hiddenSize } = this.program;
    const numHeadRows = countHeadRows(output, contexts.length);
    const logits = new Float32Array(numHeadRows * vocabSize);
    for (const [r, context] of contexts.slice(0, numHeadRows).entries()) {
      const next = this.#backend.next(context);
      logits.set(typeof next === 'number' ? oneHotLogits(next, vocabSize) : next, r * vocabSize);
    }
    const hidden = new Float32Array((contexts.length - numHeadRows) * hiddenSize);
    for (const [r, context] of contexts.slice(numHeadRows).entries()) {
      hidden.set(this.#backend.hidden(context), r * hiddenSize);
    }
    return {
      ...(output.kind !== 'hidden' && { logits }),
      ...(output.kind === 'rows' && reduceRows(logits, output.rows, vocabSize)),
      ...(numHeadRows < contexts.length && { hidden }),
    };
  }
}

/** Numbers from -1/2 to 1/2 that depend on every token and their order. */
function hashedRow(context: readonly number[]): Float32Array {
  let hash = 1;
  for (const id of context) hash = Math.imul(hash ^ id, 0x01000193) >>> 0;
  return Float32Array.from({ length: fakeHiddenSize }, (_, i) => (Math.imul(hash, 2 * i + 1) >>> 0) / 2 ** 32 - 0.5);
}

/**
 * The chosen token at 20, so that it is drawn at temperature 1, too; the others between 0 and −1, falling with the id, so that
 * the order is known.
 */
function oneHotLogits(tokenId: number, vocabSize: number): Float32Array {
  const logits = Float32Array.from({ length: vocabSize }, (_, id) => -id / vocabSize);
  logits[tokenId] = 20;
  return logits;
}

/** Waits for `work`, but no longer than until the signal fires. */
async function abortable(work: unknown, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal);
  if (!(work instanceof Promise)) return;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new AbortError(undefined, { cause: signal?.reason }));
    signal?.addEventListener('abort', onAbort);
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal?.removeEventListener('abort', onAbort!);
  }
}

/** What is asked of each row: the log-softmax of a token and the argmax, or a sample. */
function reduceRows(logits: Float32Array, rows: readonly RowOutput[], vocabSize: number) {
  const logprobs = new Float32Array(rows.length).fill(Number.NaN);
  const argmax = new Int32Array(rows.length).fill(-1);
  const sampled = new Int32Array(rows.length).fill(-1);
  for (const [r, wanted] of rows.entries()) {
    const row = logits.subarray(r * vocabSize, (r + 1) * vocabSize);
    if (wanted.kind === 'sample') sampled[r] = sampleFromRow(row, wanted);
    if (wanted.kind !== 'logprob') continue;
    const { logprob, topLogprobs } = rowLogprobs(row, wanted.tokenId, 1);
    logprobs[r] = logprob;
    argmax[r] = topLogprobs[0]!.tokenId;
  }
  return { logprobs, argmax, sampled };
}
