import {
  type Backend,
  type BackendInfo,
  type CacheDtype,
  type CompileOptions,
  checkProgram,
  DisposedError,
  InvalidArgumentError,
  type LoadWeightsOptions,
  type Program,
  type Quantizer,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  type Weights,
} from '@hearth/core';
import {
  cacheDtypeNumbers,
  dtypeNumbers,
  type KernelVariant,
  type NativeRuntime,
  type NativeWeights,
} from './addon-types.ts';
import { checkSources } from './check-sources.ts';
import { CpuWeights } from './cpu-weights.ts';
import { defaultNumThreads } from './default-num-threads.ts';
import { encodeProgram } from './encode-program.ts';
import { CpuExecutable } from './executable.ts';
import { type FileAccess, NativeFileMapper } from './file-mapper.ts';
import { loadAddon } from './load-addon.ts';
import { type LoadedWeights, packWeights } from './load-weights.ts';
import { toHearthError, translatingErrors } from './native-errors.ts';
import { loadPackedFile } from './packed-file/load.ts';
import { packedFile } from './packed-file/packed-file.ts';
import { PackedFileWriter } from './packed-file/writer.ts';
import { NativeQuantizer } from './quantize.ts';

export interface CpuBackendOptions {
  /** Name of a kernel variant. The environment variable HEARTH_KERNELS_VARIANT when absent, the best one when both are. */
  readonly variant?: string;
  /** Threads that compute. By default what affinity and control groups allow. */
  readonly numThreads?: number;
  /** How files are read; `map` by default. */
  readonly fileAccess?: FileAccess;
}

/**
 * The CPU backend: C++ kernels, a step in one call off the JavaScript thread. Every backend has threads of its own: make one per
 * process. Its results equal those of `@hearth/reference` to the bit, whatever the variant and the number of threads.
 *
 * @throws KernelsLoadError when the native addon cannot be loaded
 * @throws InvalidArgumentError when the variant is unknown or not for this processor, listing what there is
 */
export async function createCpuBackend(options: CpuBackendOptions = {}): Promise<Backend> {
  const { numThreads = defaultNumThreads(), fileAccess = 'map' } = options;
  if (fileAccess !== 'map' && fileAccess !== 'read') {
    throw new InvalidArgumentError(`fileAccess must be 'map' or 'read', got ${String(fileAccess)}.`);
  }
  const variant = options.variant ?? process.env.HEARTH_KERNELS_VARIANT ?? '';
  const { Runtime } = loadAddon();
  const runtime = await translatingErrors(() => new Runtime(variant, numThreads));
  return new CpuBackend(runtime, fileAccess);
}

/** The kernel variants built into the addon, best first. @throws KernelsLoadError */
export function kernelVariants(): readonly KernelVariant[] {
  return loadAddon().variants();
}

class CpuBackend implements Backend {
  readonly info: BackendInfo;
  readonly fileMapper: NativeFileMapper;
  readonly quantizer: Quantizer;
  #runtime: NativeRuntime | undefined;
  #disposal: Promise<void> | undefined;
  readonly #weights = new Set<CpuWeights>();
  readonly #executables = new Set<CpuExecutable>();

  constructor(runtime: NativeRuntime, fileAccess: FileAccess) {
    this.#runtime = runtime;
    this.fileMapper = new NativeFileMapper(runtime, fileAccess);
    this.quantizer = new NativeQuantizer(runtime);
    this.info = {
      kind: 'cpu',
      variant: runtime.variant,
      numThreads: runtime.numThreads,
      weightDtypes: Object.keys(dtypeNumbers) as WeightDtype[],
      cacheDtypes: Object.keys(cacheDtypeNumbers) as CacheDtype[],
      canSampleInStep: true,
    };
  }

  async loadWeights(
    specs: readonly WeightSpec[],
    sources: ReadonlyMap<string, WeightSource>,
    options: LoadWeightsOptions = {},
  ): Promise<Weights> {
    const runtime = this.#alive();
    const wanted = checkSources(specs, sources);
    const file = options.packedCache && packedFile(wanted, options.packedCache);
    let filled = file && (await fill(runtime, (native) => loadPackedFile(native, file, this.fileMapper, options)));
    const isFromCache = filled !== undefined;
    filled ??= await fill(runtime, (native) => packWeights(native, wanted, options));
    if (!filled) throw new DisposedError('backend');
    const { native, loaded } = filled;
    const writer = file && !isFromCache ? new PackedFileWriter(native, file) : undefined;
    const weights = new CpuWeights(native, loaded, { isFromCache, writer }, () => this.#weights.delete(weights));
    this.#weights.add(weights);
    return weights;
  }

  async compile(program: Program, weights: Weights, options: CompileOptions): Promise<CpuExecutable> {
    const runtime = this.#alive();
    if (!(weights instanceof CpuWeights) || !this.#weights.has(weights)) {
      throw new InvalidArgumentError('The weights were not loaded by this backend, or were disposed.');
    }
    checkProgram(program);
    const { dtype, blockSize, numBlocks } = options.cache;
    const { cacheDtypes } = this.info;
    if (!cacheDtypes.includes(dtype)) {
      throw new InvalidArgumentError(`cache.dtype must be one of ${cacheDtypes.join(', ')}, got ${String(dtype)}.`);
    }
    const indices = program.weights.map((spec) => weights.indexOf(spec));
    const words = encodeProgram(program, indices);
    const cache = Int32Array.of(cacheDtypeNumbers[dtype], blockSize, numBlocks);
    const native = await translatingErrors(() =>
      runtime.compile(weights.native, words, options.maxTokens, options.maxOutputRows, cache),
    );
    const executable = new CpuExecutable(native, program, options, {
      // Not before: the first token waits for nothing.
      onOutput: () => void weights.writer?.start(),
      onDisposed: () => {
        this.#executables.delete(executable);
        weights.executables.delete(executable);
      },
    });
    this.#executables.add(executable);
    weights.executables.add(executable);
    return executable;
  }

  dispose(): Promise<void> {
    if (!this.#disposal && this.#executables.size + this.#weights.size > 0) {
      return Promise.reject(
        new InvalidArgumentError(
          `Dispose the executables (${this.#executables.size} left) and weights (${this.#weights.size} left) of this backend first.`,
        ),
      );
    }
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    const runtime = this.#runtime;
    this.#runtime = undefined;
    await runtime?.dispose();
  }

  #alive(): NativeRuntime {
    if (!this.#runtime) throw new DisposedError('backend');
    return this.#runtime;
  }
}

interface Filled<T> {
  readonly native: NativeWeights;
  readonly loaded: T;
}

/** New native weights, filled. Where that fails or gives nothing they are freed again. */
async function fill<T extends LoadedWeights | undefined>(
  runtime: NativeRuntime,
  filling: (native: NativeWeights) => Promise<T>,
): Promise<Filled<NonNullable<T>> | undefined> {
  const native = runtime.createWeights();
  try {
    const loaded = await filling(native);
    if (loaded) return { native, loaded };
  } catch (error) {
    native.dispose();
    throw toHearthError(error);
  }
  native.dispose();
  return undefined;
}
