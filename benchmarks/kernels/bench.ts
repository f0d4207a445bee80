import { type Backend, type Batch, type Executable, MemoryFile, type WeightSource } from '@hearth/core';
import { leastSeconds, type OpWork, opWork, type RooflineCeilings, type StorageTypes, sumWork } from '@hearth/engine';
import { createCpuBackend, type MachineProbe, openMachineProbe } from '@hearth/kernels';
import { type KernelCase, measuredName } from './kernel-case.ts';
import { randomFloats, randomMatrix } from './random-rows.ts';

const blockSize = 32;

/** One measurement of a case, and how near it came to the ceilings that were measured just before. */
export interface Sample {
  /** Of one op. */
  readonly seconds: number;
  readonly share: number;
  readonly limit: 'bytes' | 'ops';
}

/** A kernel variant: a backend that runs cases, and a probe with the same instructions and threads. */
export class VariantBench {
  readonly variant: string;
  readonly #backend: Backend;
  readonly #probe: MachineProbe;

  private constructor(backend: Backend, probe: MachineProbe) {
    this.#backend = backend;
    this.#probe = probe;
    this.variant = backend.info.variant;
  }

  static async open(variant: string | undefined, numThreads: number | undefined): Promise<VariantBench> {
    const options = { ...(variant && { variant }), ...(numThreads && { numThreads }) };
    return new VariantBench(await createCpuBackend(options), await openMachineProbe(options));
  }

  get description(): string {
    return `${this.variant}, ${this.#probe.numThreads} threads`;
  }

  /** Four times the last cache, so that nothing of a round is there in the next. */
  get bytesPastCaches(): number {
    return Math.max(128 * 2 ** 20, 4 * (this.#probe.caches.l3?.bytes ?? 0));
  }

  async prepare(kernelCase: KernelCase): Promise<PreparedCase> {
    const { program, weights, numTokens, context, cacheDtype } = kernelCase;
    const files = new Map<string, Promise<Uint8Array>>();
    const sources = new Map<string, WeightSource>();
    for (const [i, { dtype, shape }] of weights.entries()) {
      const key = `${dtype} ${shape}`;
      if (!files.has(key)) files.set(key, this.#randomBytes(kernelCase, i));
      const file = new MemoryFile(await files.get(key)!);
      const { name } = program.weights[i]!;
      sources.set(name, { name, dtype, shape, file, offset: 0, byteLength: file.size });
    }
    const loaded = await this.#backend.loadWeights(program.weights, sources);
    const numBlocks = Math.ceil((context + numTokens) / blockSize);
    const executable = await this.#backend.compile(program, loaded, {
      maxTokens: numTokens,
      maxOutputRows: 1,
      cache: { dtype: cacheDtype, blockSize, numBlocks },
    });
    // Pages that were never written to are one page of zeros, which every cache holds.
    await executable.cache.zeroBlocks(Int32Array.from({ length: numBlocks }, (_, i) => i));
    const types = { weightDtypes: weights.map(({ dtype }) => dtype), cacheBytesPerPosition: cacheBytes(executable) };
    const dispose = async () => {
      await executable.dispose();
      await loaded.dispose();
    };
    return new PreparedCase(kernelCase, executable, this.#probe, types, dispose);
  }

  async dispose(): Promise<void> {
    await this.#backend.dispose();
    await this.#probe.dispose();
  }

  #randomBytes({ program, weights }: KernelCase, index: number): Promise<Uint8Array> {
    const { dtype, shape } = weights[index]!;
    const [rows = 0, columns] = shape;
    if (columns === undefined) return Promise.resolve(new Uint8Array(new Float32Array(rows).fill(1).buffer));
    // The input is the last one; it has values of the size that activations have.
    if (index === program.weights.length - 1) {
      return Promise.resolve(new Uint8Array(randomFloats(rows * columns, 1).buffer));
    }
    return randomMatrix(dtype, rows, columns, this.#backend.quantizer!);
  }
}

/** A case that is loaded and can be measured again and again. */
export class PreparedCase {
  /** Of one op. */
  readonly work: OpWork;
  readonly #kernelCase: KernelCase;
  readonly #executable: Executable;
  readonly #probe: MachineProbe;
  readonly #batch: Batch;
  readonly #ops: readonly number[];
  readonly dispose: () => Promise<void>;

  constructor(
    kernelCase: KernelCase,
    executable: Executable,
    probe: MachineProbe,
    types: StorageTypes,
    dispose: () => Promise<void>,
  ) {
    this.#kernelCase = kernelCase;
    this.#executable = executable;
    this.#probe = probe;
    this.dispose = dispose;
    const { program, numTokens, context } = kernelCase;
    this.#batch = oneSequence(numTokens, context);
    this.#ops = program.ops.flatMap(({ name }, op) => (name === measuredName ? [op] : []));
    const step = { numOutputRows: 1, sequences: [{ numTokens, contextLength: context + numTokens }] };
    const work = opWork(program.ops[this.#ops[0]!]!, program, types, step);
    // Activations of products and of attention are in the caches of the cores, and little besides: only rows are held to them.
    this.work = kernelCase.group === 'rows' ? work : sumWork([work, { activationBytes: -work.activationBytes }]);
  }

  /** Ceilings, then the kernel, for some 30 ms. */
  async sample(): Promise<Sample> {
    const ceilings = await this.#measureCeilings();
    let nanoseconds = 0;
    let calls = 0;
    for (let steps = 0; steps < 200 && (steps < 2 || nanoseconds < 30e6); steps++) {
      const { profile } = await this.#executable.step(this.#batch, { profile: true });
      for (const op of this.#ops) nanoseconds += profile![op]!.nanoseconds;
      calls += this.#ops.length;
    }
    const seconds = nanoseconds / 1e9 / calls;
    const least = leastSeconds(this.work, ceilings);
    return {
      seconds,
      share: Math.max(least.bytes, least.ops) / seconds,
      limit: least.bytes >= least.ops ? 'bytes' : 'ops',
    };
  }

  /** Those that limit this kernel; the others never do. */
  async #measureCeilings(): Promise<RooflineCeilings> {
    const never = Number.POSITIVE_INFINITY;
    const measure = async (ceiling: Parameters<MachineProbe['measure']>[0], isNeeded: boolean) =>
      isNeeded ? ((await this.#probe.measure(ceiling, { numRuns: 3 }))?.median ?? never) : never;
    const { group } = this.#kernelCase;
    return {
      memoryBytes: await measure('memory-read', group !== 'rows'),
      cacheBytes: await measure('l2-read', group === 'rows'),
      integerOps: await measure('integer', this.work.integerOps > 0),
      floatOps: await measure('fma', this.work.floatOps > 0),
    };
  }
}

function oneSequence(numTokens: number, context: number): Batch {
  const numBlocks = Math.ceil((context + numTokens) / blockSize);
  return {
    tokenIds: Int32Array.from({ length: numTokens }, (_, t) => t),
    positions: Int32Array.from({ length: numTokens }, (_, t) => context + t),
    cuSeqlensQ: Int32Array.of(0, numTokens),
    contextLens: Int32Array.of(context + numTokens),
    blockTables: [{ blocks: Int32Array.from({ length: numBlocks }, (_, i) => i), maxBlocks: numBlocks }],
    outputRows: Int32Array.of(numTokens - 1),
  };
}

/** By layer; all layers of a case are alike. */
function cacheBytes({ program, cache }: Executable): number[] {
  const { cacheLayers } = program;
  return cacheLayers.map(() => cache.bytesPerBlock / cacheLayers.length / cache.blockSize);
}
