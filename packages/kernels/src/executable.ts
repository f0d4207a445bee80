import {
  AbortError,
  type Batch,
  type BatchLimits,
  type CompileOptions,
  checkBatch,
  checkRowOutputs,
  countHeadRows,
  DisposedError,
  type Executable,
  InvalidArgumentError,
  NumericError,
  type Program,
  type StepOptions,
  type StepOutput,
  type StepResult,
  throwIfAborted,
} from '@hearth/core';
import { type NativeExecutable, outputNumbers } from './addon-types.ts';
import { encodeRowOutputs } from './encode-row-outputs.ts';
import { CpuKvCache } from './kv-cache.ts';
import { toHearthError } from './native-errors.ts';

/** What a numeric failure carries: the op, and whether it was the sum of an add-rms-norm. */
interface NativeNumericError {
  readonly code: 'numeric';
  readonly op: number;
  readonly inSum: boolean;
}

/** Calls of an executable to whoever made it. */
interface ExecutableEvents {
  /** A step has given output: the first token is there. */
  readonly onOutput: () => void;
  readonly onDisposed: () => void;
}

/** A compiled program. A step is one native call: the batch is copied, and all ops run on the step thread and its pool. */
export class CpuExecutable implements Executable {
  readonly program: Program;
  readonly cache: CpuKvCache;
  readonly #limits: BatchLimits;
  readonly #events: ExecutableEvents;
  #native: NativeExecutable | undefined;
  #running: Promise<void> | undefined;
  #disposal: Promise<void> | undefined;
  readonly #views: { logits: Float32Array | undefined; hidden: Float32Array | undefined };

  constructor(native: NativeExecutable, program: Program, options: CompileOptions, events: ExecutableEvents) {
    this.program = program;
    this.#native = native;
    this.#events = events;
    const { maxTokens, maxOutputRows } = options;
    const { blockSize, numBlocks } = options.cache;
    this.#limits = { maxTokens, maxOutputRows, blockSize, numBlocks };
    this.cache = new CpuKvCache(() => this.#alive(), options.cache);
    this.#views = {
      logits: native.outputView(outputNumbers.logits),
      hidden: native.outputView(outputNumbers.hidden),
    };
  }

  async step(batch: Batch, options: StepOptions = {}): Promise<StepResult> {
    const native = this.#alive();
    const { signal, profile = false, output = { kind: 'logits' } } = options;
    if (this.#running) {
      throw new InvalidArgumentError('A step is running. Await it first: an executable runs one step at a time.');
    }
    throwIfAborted(signal);
    checkBatch(batch, this.program, this.#limits);
    const numRows = batch.outputRows.length;
    if (output.kind === 'rows') checkRowOutputs(output.rows, numRows, this.program);
    const rows = output.kind === 'rows' ? encodeRowOutputs(output.rows, this.program.vocabSize) : undefined;

    const abort = () => native.abort();
    const running = (async () => {
      signal?.addEventListener('abort', abort, { once: true });
      try {
        await native.step(batch, outputNumbers[output.kind], rows, profile);
      } catch (error) {
        throw this.#describe(error, signal);
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    })();
    this.#running = running;
    try {
      await running;
      if (numRows > 0) this.#events.onOutput();
      return this.#collect(native, output, numRows, profile);
    } finally {
      this.#running = undefined;
    }
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    const native = this.#native;
    this.#native = undefined;
    await this.#running?.catch(() => {}); // whoever called step() hears of it
    native?.dispose();
    this.#events.onDisposed();
  }

  #alive(): NativeExecutable {
    if (!this.#native) throw new DisposedError('executable');
    return this.#native;
  }

  #collect(native: NativeExecutable, output: StepOutput, numRows: number, profile: boolean): StepResult {
    const { captures, hiddenSize, vocabSize } = this.program;
    const numHeadRows = countHeadRows(output, numRows);
    let result: StepResult = {};
    if (output.kind !== 'hidden') {
      const logits = this.#rows(native, 'logits', numRows * vocabSize);
      result = { logits: logits.subarray(0, numHeadRows * vocabSize) };
    }
    if (output.kind === 'hidden' || numHeadRows < numRows) {
      const hidden = this.#rows(native, 'hidden', numRows * hiddenSize);
      result = { ...result, hidden: hidden.subarray(numHeadRows * hiddenSize) };
    }
    if (output.kind === 'rows') {
      const [logprobs, argmax, sampled] = [
        new Float32Array(numRows),
        new Int32Array(numRows),
        new Int32Array(numRows),
      ] as const;
      native.readRows(logprobs, argmax, sampled);
      result = { ...result, logprobs, argmax, sampled };
    }
    if (captures.length > 0) {
      const copies = captures.map(({ name }, i) => [name, native.readCapture(i)] as const);
      result = { ...result, captures: new Map(copies) };
    }
    if (profile) {
      result = {
        ...result,
        profile: Array.from(native.opNanoseconds(), (nanoseconds, op) => ({ op, nanoseconds })),
      };
    }
    return result;
  }

  /** The rows in place. Where the runtime has no such views, or the caller has transferred ours away, a copy. */
  #rows(native: NativeExecutable, kind: 'logits' | 'hidden', numFloats: number): Float32Array {
    const view = this.#views[kind];
    if (view && view.length >= numFloats) return view.subarray(0, numFloats);
    const copy = new Float32Array(numFloats);
    native.copyOutput(outputNumbers[kind], copy);
    return copy;
  }

  #describe(error: unknown, signal: AbortSignal | undefined): unknown {
    const code = (error as { code?: unknown }).code;
    if (code === 'aborted') return new AbortError(undefined, { cause: signal?.reason });
    if (code !== 'numeric') return toHearthError(error);
    const { op: index, inSum } = error as NativeNumericError;
    const op = this.program.ops[index]!;
    const name = op.kind === 'add-rms-norm' && inSum ? op.sumName : op.name;
    const what =
      op.kind === 'write-cache'
        ? `a value that the ${this.cache.dtype} cache cannot hold. Load the model with a cache of f32 if its keys are that large`
        : 'NaN or an infinity. The weights are damaged, or too large for 32-bit floats';
    return new NumericError(name, `${name} produced ${what}. The step gave no token.`);
  }
}
