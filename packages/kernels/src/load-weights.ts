import {
  decodeElements,
  InvalidModelError,
  type LoadWeightsOptions,
  packedByteLength,
  throwIfAborted,
  type WeightSource,
  type WeightSpec,
} from '@hearth/core';
import { dtypeNumbers, type NativeWeights } from './addon-types.ts';
import { type CheckedWeight, checkSources } from './check-sources.ts';
import { NativeMappedFile } from './file-mapper.ts';
import { toHearthError } from './native-errors.ts';

/** Source bytes that are packed in one native call: progress, abort and the release of mapped pages go in such steps. */
const NATIVE_SLAB_BYTES = 8 * 1024 * 1024;
/** The same for files that JavaScript reads, where a slab is in memory twice for a moment. */
const READ_SLAB_BYTES = 4 * 1024 * 1024;

/** A loaded weight. */
export interface LoadedWeight {
  readonly spec: WeightSpec;
  /** In the native weights. */
  readonly index: number;
}

export interface LoadedWeights {
  readonly byName: ReadonlyMap<string, LoadedWeight>;
  readonly packedBytes: number;
  readonly sourceBytes: number;
}

/** `packWeights` of sources that are still to be checked. @throws InvalidModelError */
export function loadWeights(
  native: NativeWeights,
  specs: readonly WeightSpec[],
  sources: ReadonlyMap<string, WeightSource>,
  options: LoadWeightsOptions = {},
): Promise<LoadedWeights> {
  return packWeights(native, checkSources(specs, sources), options);
}

/**
 * Fills native weights from files, tensor by tensor. Matrices are packed by native threads, straight from the file when it is a
 * native one; vectors are small and become f32 here.
 *
 * @throws InvalidModelError for blocks that hold what their type does not have, or files cut short
 * @throws AbortError
 */
export async function packWeights(
  native: NativeWeights,
  weights: readonly CheckedWeight[],
  options: LoadWeightsOptions,
): Promise<LoadedWeights> {
  const totalBytes = weights.reduce((sum, { source }) => sum + source.byteLength, 0);
  const byName = new Map<string, LoadedWeight>();
  let packedBytes = 0;
  let doneBytes = 0;
  const advance = (bytes: number) => {
    doneBytes += bytes;
    options.onProgress?.({ doneBytes, totalBytes });
  };
  for (const { spec, source } of weights) {
    throwIfAborted(options.signal);
    packedBytes += packedWeightBytes({ spec, source });
    if (spec.role === 'vector') {
      byName.set(spec.name, { spec, index: native.addVector(await readVector(source)) });
      advance(source.byteLength);
    } else {
      const [rows, columns] = spec.shape as [number, number];
      const index = native.addMatrix(dtypeNumbers[source.dtype], rows, columns, source.rowOrder, source.columnOrder);
      byName.set(spec.name, { spec, index });
      await namingWeight(spec.name, packMatrixRows(native, index, source, rows, options.signal, advance));
    }
  }
  return { byName, packedBytes, sourceBytes: totalBytes };
}

/** Bytes of a weight in memory: a matrix in tiles, a vector in f32. */
export function packedWeightBytes({ spec, source }: CheckedWeight): number {
  const [rows, columns] = spec.shape as [number, number];
  return spec.role === 'vector' ? rows * 4 : packedByteLength(source.dtype, rows, columns);
}

/** Packs rows in the order of the file, slab by slab. */
async function packMatrixRows(
  native: NativeWeights,
  index: number,
  source: WeightSource,
  rows: number,
  signal: AbortSignal | undefined,
  advance: (bytes: number) => void,
): Promise<void> {
  const { file } = source;
  const rowBytes = source.byteLength / rows;
  const slabBytes = file instanceof NativeMappedFile ? NATIVE_SLAB_BYTES : READ_SLAB_BYTES;
  const rowsPerSlab = Math.max(1, Math.floor(slabBytes / rowBytes));
  for (let row = 0; row < rows; row += rowsPerSlab) {
    throwIfAborted(signal);
    const count = Math.min(rowsPerSlab, rows - row);
    const offset = source.offset + row * rowBytes;
    if (file instanceof NativeMappedFile) {
      await native.packFile(index, file.native, offset, row, count);
    } else {
      await native.packBytes(index, await file.read(offset, count * rowBytes), row, count);
    }
    advance(count * rowBytes);
  }
}

/** Native code finds what is wrong within blocks, but knows no names. */
async function namingWeight(name: string, packing: Promise<void>): Promise<void> {
  try {
    await packing;
  } catch (error) {
    const translated = toHearthError(error);
    if (!(translated instanceof InvalidModelError)) throw error;
    throw new InvalidModelError(`Weight ${name}: ${translated.message}`, { details: { name }, cause: error });
  }
}

/** A vector as f32, in the spec's order. */
async function readVector(source: WeightSource): Promise<Float32Array> {
  const bytes = await source.file.read(source.offset, source.byteLength);
  const values = decodeElements(source.dtype, bytes);
  return source.rowOrder ? Float32Array.from(source.rowOrder, (i) => values[i]!) : values;
}
