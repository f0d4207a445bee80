import { DisposedError, throwIfAborted } from '@hearth/core';
import { type NativeProbe, quantityNumbers } from './addon-types.ts';
import { type CacheSizes, cacheSizes } from './cache-sizes.ts';
import { defaultNumThreads } from './default-num-threads.ts';
import { loadAddon } from './load-addon.ts';
import { translatingErrors } from './native-errors.ts';

/**
 * What can be measured:
 * - `memory-read`: bytes per second read from a buffer far larger than the caches
 * - `l3-read`, `l2-read`: bytes per second that threads read from that cache, each its own part
 * - `fma`: operations per second of f32 multiply-adds, which count as two
 * - `integer`: operations per second of the dot products that the variant's quantized products are made of
 */
export type Ceiling = 'memory-read' | 'l3-read' | 'l2-read' | 'fma' | 'integer';

/** Rates per second of some short runs. */
export interface MeasuredRate {
  readonly best: number;
  readonly median: number;
}

/** A ceiling of one thread alone, and of all threads together. */
export interface ThreadRates {
  readonly oneThread: MeasuredRate;
  readonly allThreads: MeasuredRate;
}

/** What a machine can do at most, per second: bytes that are read, operations (a multiply-add is two). */
export interface MachineCeilings {
  readonly variant: string;
  readonly numThreads: number;
  readonly memoryRead: ThreadRates;
  /** Null where no third level of cache is known. */
  readonly l3Read: ThreadRates | null;
  readonly l2Read: ThreadRates;
  /** f32 multiply-adds. */
  readonly fma: ThreadRates;
  /** The integer dot products of the variant. */
  readonly integer: ThreadRates;
}

export interface MeasureOptions {
  /** All threads of the probe (default), or one of them. */
  readonly threads?: 'all' | 'one';
  /** Short runs, of 10 to 20 ms each. Default: 9. */
  readonly numRuns?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface MachineProbeOptions {
  /** As `CpuBackendOptions`. */
  readonly variant?: string | undefined;
  readonly numThreads?: number | undefined;
}

const mebibyte = 2 ** 20;

/** Reads of a cache go in such steps. */
const readStep = 512;

/** Measures what this machine can do with the instructions of a kernel variant, on threads of its own. */
export class MachineProbe {
  readonly variant: string;
  readonly numThreads: number;
  readonly caches: CacheSizes;
  #native: NativeProbe | undefined;

  /** Made by `openMachineProbe`. */
  constructor(native: NativeProbe, caches: CacheSizes) {
    this.#native = native;
    this.variant = native.variant;
    this.numThreads = native.numThreads;
    this.caches = caches;
  }

  /**
   * Measures off the JavaScript thread. Null where there is nothing to measure: no third level of cache, or one whose share
   * of a thread is hardly larger than the second.
   *
   * @throws AbortError | DisposedError
   * @throws LimitExceededError when there is no memory for a buffer larger than the caches
   */
  async measure(ceiling: Ceiling, options: MeasureOptions = {}): Promise<MeasuredRate | null> {
    const { threads = 'all', numRuns = 9, signal } = options;
    const native = this.#native;
    if (!native) throw new DisposedError('machine probe');
    throwIfAborted(signal);
    const bytes = this.#bytesToRead(ceiling);
    if (bytes === null) return null;
    const abort = () => native.abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const measuring = () => native.measure(quantityNumbers[ceiling], threads === 'all', bytes, numRuns);
      const rates = (await translatingErrors(measuring)).sort();
      return { best: rates.at(-1)!, median: rates[rates.length >> 1]! };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** All ceilings, in about a second. */
  async measureAll(signal?: AbortSignal): Promise<MachineCeilings> {
    const rates = async (ceiling: Ceiling): Promise<ThreadRates | null> => {
      const allThreads = await this.measure(ceiling, { signal });
      const oneThread = await this.measure(ceiling, { threads: 'one', signal });
      return allThreads && oneThread && { allThreads, oneThread };
    };
    return {
      variant: this.variant,
      numThreads: this.numThreads,
      memoryRead: (await rates('memory-read'))!,
      l3Read: await rates('l3-read'),
      l2Read: (await rates('l2-read'))!,
      fma: (await rates('fma'))!,
      integer: (await rates('integer'))!,
    };
  }

  async dispose(): Promise<void> {
    const native = this.#native;
    this.#native = undefined;
    await native?.dispose();
  }

  /** Of the shared buffer, or of each thread's own; 0 for arithmetic. */
  #bytesToRead(ceiling: Ceiling): number | null {
    const { l2Bytes, l3 } = this.caches;
    const l2Share = Math.floor(l2Bytes / 2 / readStep) * readStep;
    switch (ceiling) {
      case 'memory-read': {
        // Four times the cache, or what was read last would still be there; as much as is cheap where it is not known.
        const mebibytes = Math.ceil((4 * (l3?.bytes ?? 0)) / mebibyte);
        return mebibyte * Math.min(1024, Math.max(256, mebibytes));
      }
      case 'l3-read': {
        if (!l3) return null;
        const share = l3.bytes / 2 / Math.min(this.numThreads, l3.numSharers);
        return share < 2 * l2Bytes ? null : Math.floor(share / readStep) * readStep;
      }
      case 'l2-read':
        return l2Share;
      case 'fma':
      case 'integer':
        return 0;
    }
  }
}

/**
 * @throws KernelsLoadError when the native addon cannot be loaded
 * @throws InvalidArgumentError when the variant is unknown or not for this processor
 */
export async function openMachineProbe(options: MachineProbeOptions = {}): Promise<MachineProbe> {
  const { variant = process.env.HEARTH_KERNELS_VARIANT ?? '', numThreads = defaultNumThreads() } = options;
  const { Probe } = loadAddon();
  const native = await translatingErrors(() => new Probe(variant, numThreads));
  return new MachineProbe(native, await cacheSizes());
}
