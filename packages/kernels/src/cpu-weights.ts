import { DisposedError, InvalidArgumentError, type WeightSpec, type Weights } from '@hearth/core';
import type { NativeWeights } from './addon-types.ts';
import type { LoadedWeights } from './load-weights.ts';
import type { PackedFileWriter } from './packed-file/writer.ts';

/** Packed weights in native memory. */
export class CpuWeights implements Weights {
  readonly packedBytes: number;
  readonly sourceBytes: number;
  readonly isFromCache: boolean;
  /** Keeps the weights for the next load; undefined where they are not to be kept, or are already. */
  readonly writer: PackedFileWriter | undefined;
  /** Those compiled from these weights and not yet disposed. */
  readonly executables = new Set<unknown>();
  readonly #loaded: LoadedWeights;
  readonly #onDisposed: () => void;
  #native: NativeWeights | undefined;

  constructor(
    native: NativeWeights,
    loaded: LoadedWeights,
    { isFromCache, writer }: { isFromCache: boolean; writer: PackedFileWriter | undefined },
    onDisposed: () => void,
  ) {
    this.#native = native;
    this.#loaded = loaded;
    this.#onDisposed = onDisposed;
    this.packedBytes = loaded.packedBytes;
    this.sourceBytes = loaded.sourceBytes;
    this.isFromCache = isFromCache;
    this.writer = writer;
  }

  get native(): NativeWeights {
    if (!this.#native) throw new DisposedError('set of weights');
    return this.#native;
  }

  /** Native index of a weight that a program wants. @throws InvalidArgumentError when it was not loaded as such */
  indexOf(spec: WeightSpec): number {
    const found = this.#loaded.byName.get(spec.name);
    if (!found) throw new InvalidArgumentError(`The program needs the weight ${spec.name}, which was not loaded.`);
    const { role, shape } = found.spec;
    if (role !== spec.role || shape.length !== spec.shape.length || shape.some((size, i) => size !== spec.shape[i])) {
      throw new InvalidArgumentError(
        `The program needs ${spec.name} as a ${spec.role} [${spec.shape}], but it was loaded as a ${role} [${shape}].`,
      );
    }
    return found.index;
  }

  async dispose(): Promise<void> {
    if (this.executables.size > 0) {
      throw new InvalidArgumentError(
        `Dispose the executables of these weights first; ${this.executables.size} are left.`,
      );
    }
    await this.writer?.cancel();
    this.#native?.dispose();
    this.#native = undefined;
    this.#onDisposed();
  }
}
