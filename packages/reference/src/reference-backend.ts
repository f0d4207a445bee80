import { plainFileMapper } from '@hearth/checkpoint';
import {
  type Backend,
  type BackendInfo,
  type CacheDtype,
  type CompileOptions,
  checkProgram,
  DisposedError,
  type Executable,
  type FileMapper,
  InvalidArgumentError,
  type LoadWeightsOptions,
  type Program,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  type Weights,
  weightDtypes,
} from '@hearth/core';
import { loadWeights } from './load-weights.ts';
import { ReferenceExecutable } from './reference-executable.ts';
import { type BoundWeights, ReferenceWeights } from './reference-weights.ts';

const cacheDtypes: readonly CacheDtype[] = ['f32', 'f16', 'q8'];

/**
 * The backend in plain TypeScript: every op as its formula reads, each rounding written out. Slow, and the definition of
 * the right answer: fast backends are held to its bits.
 *
 * It runs on the JavaScript thread and lets the event loop run about every 10 ms.
 */
export function createReferenceBackend(): Backend {
  return new ReferenceBackend();
}

class ReferenceBackend implements Backend {
  readonly info: BackendInfo = {
    kind: 'reference',
    variant: 'typescript',
    numThreads: 1,
    weightDtypes: Object.keys(weightDtypes) as WeightDtype[],
    cacheDtypes,
    canSampleInStep: true,
  };
  readonly fileMapper: FileMapper = plainFileMapper;
  /** Weights and executables that were not disposed yet. */
  #numLive = 0;
  #disposed = false;

  async loadWeights(
    specs: readonly WeightSpec[],
    sources: ReadonlyMap<string, WeightSource>,
    options?: LoadWeightsOptions,
  ): Promise<Weights> {
    if (this.#disposed) throw new DisposedError('backend');
    const loaded = await loadWeights(specs, sources, options);
    if (this.#disposed) throw new DisposedError('backend');
    this.#numLive++;
    return new ReferenceWeights(loaded, () => this.#numLive--);
  }

  async compile(program: Program, weights: Weights, options: CompileOptions): Promise<Executable> {
    if (this.#disposed) throw new DisposedError('backend');
    if (!(weights instanceof ReferenceWeights)) {
      throw new InvalidArgumentError('These weights were loaded by another backend. Load them with this one.');
    }
    checkProgram(program);
    checkOptions(options);
    const bound = weights.bind(program.weights);
    try {
      checkTables(program, bound);
      const executable = new ReferenceExecutable(program, bound, options, () => this.#numLive--);
      this.#numLive++;
      return executable;
    } catch (error) {
      bound.release();
      if (!(error instanceof RangeError)) throw error;
      throw new InvalidArgumentError(
        'The arenas or the cache are too large to allocate. Lower maxTokens or numBlocks.',
        {
          cause: error,
          details: { options },
        },
      );
    }
  }

  async dispose(): Promise<void> {
    if (this.#numLive > 0) {
      throw new InvalidArgumentError(
        `This backend still has ${this.#numLive} executables or weights. Dispose them first.`,
      );
    }
    this.#disposed = true;
  }
}

/** Only a linear can undo a column order. */
function checkTables(program: Program, weights: BoundWeights): void {
  for (const op of program.ops) {
    if (op.kind !== 'embed') continue;
    const table = weights.matrix(op.weight);
    if (table.kind === 'quantized' && table.columnOrder) {
      const { name } = program.weights[op.weight]!;
      throw new InvalidArgumentError(`${op.name} reads ${name}, whose columns are in another order. Load it without.`);
    }
  }
}

function checkOptions({ maxTokens, maxOutputRows, cache }: CompileOptions): void {
  const { dtype, blockSize, numBlocks } = cache;
  for (const [name, value] of Object.entries({ maxTokens, maxOutputRows, 'cache.numBlocks': numBlocks })) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new InvalidArgumentError(`${name} must be a positive integer, got ${value}.`);
    }
  }
  if (![16, 32, 64].includes(blockSize)) {
    throw new InvalidArgumentError(`cache.blockSize must be 16, 32 or 64, got ${blockSize}.`);
  }
  if (!cacheDtypes.includes(dtype)) {
    throw new InvalidArgumentError(`cache.dtype must be one of ${cacheDtypes.join(', ')}, got ${dtype}.`);
  }
}
