import {
  checkFileRange,
  decodeElements,
  InvalidModelError,
  isQuantizedDtype,
  type LoadWeightsOptions,
  packedByteLength,
  throwIfAborted,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { dtypeNumbers, type NativeWeights } from './addon-types.ts';
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

/**
 * Fills native weights from files, tensor by tensor. Matrices are packed by native threads, straight from the file when it is a
 * native one; vectors are small and become f32 here.
 *
 * @throws InvalidModelError when a source is missing or disagrees with its spec, before anything is packed
 * @throws AbortError
 */
export async function loadWeights(
  native: NativeWeights,
  specs: readonly WeightSpec[],
  sources: ReadonlyMap<string, WeightSource>,
  options: LoadWeightsOptions = {},
): Promise<LoadedWeights> {
  const pairs = specs.map((spec) => ({ spec, source: checkedSource(spec, sources.get(spec.name)) }));
  const totalBytes = pairs.reduce((sum, { source }) => sum + source.byteLength, 0);
  const byName = new Map<string, LoadedWeight>();
  let packedBytes = 0;
  let doneBytes = 0;
  const advance = (bytes: number) => {
    doneBytes += bytes;
    options.onProgress?.({ doneBytes, totalBytes });
  };
  for (const { spec, source } of pairs) {
    throwIfAborted(options.signal);
    if (spec.role === 'vector') {
      const values = await readVector(source);
      byName.set(spec.name, { spec, index: native.addVector(values) });
      packedBytes += values.byteLength;
      advance(source.byteLength);
    } else {
      const [rows, columns] = spec.shape as [number, number];
      const index = native.addMatrix(dtypeNumbers[source.dtype], rows, columns, source.rowOrder, source.columnOrder);
      byName.set(spec.name, { spec, index });
      packedBytes += packedByteLength(source.dtype, rows, columns);
      await namingWeight(spec.name, packMatrixRows(native, index, source, rows, options.signal, advance));
    }
  }
  return { byName, packedBytes, sourceBytes: totalBytes };
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

/** The source of a spec, once everything about it agrees. */
function checkedSource(spec: WeightSpec, source: WeightSource | undefined): WeightSource {
  const fail = (message: string): never => {
    throw new InvalidModelError(`Weight ${spec.name}: ${message}`, { details: { name: spec.name } });
  };
  if (!source) return fail('the model does not have it.');
  const { dtype, shape, rowOrder, columnOrder } = source;
  if (!Object.hasOwn(dtypeNumbers, dtype)) fail(`its type ${dtype} is not one that kernels compute with.`);
  const dimensions = spec.role === 'matrix' ? 2 : 1;
  if (spec.shape.length !== dimensions || spec.shape.some((size) => !Number.isInteger(size) || size < 1)) {
    fail(`[${spec.shape}] is not the shape of a ${spec.role}.`);
  }
  if (shape.length !== dimensions || shape.some((size, i) => size !== spec.shape[i])) {
    fail(`the model has the shape [${shape}], expected [${spec.shape}].`);
  }
  const { blockElements } = weightDtypes[dtype];
  const rowElements = shape.at(-1)!;
  if (rowElements % blockElements !== 0)
    fail(`rows of ${rowElements} are not whole ${dtype} blocks of ${blockElements}.`);
  const byteLength = weightByteLength(dtype, rowElements) * (spec.role === 'matrix' ? shape[0]! : 1);
  if (source.byteLength !== byteLength) {
    fail(`it has ${source.byteLength} bytes, but [${shape}] in ${dtype} takes ${byteLength}.`);
  }
  checkFileRange(source.file, source.offset, source.byteLength);
  if (rowOrder) checkOrder('row', rowOrder, shape[0]!, fail);
  if (columnOrder) {
    if (spec.role !== 'matrix' || !isQuantizedDtype(dtype)) fail(`a ${dtype} ${spec.role} cannot have a column order.`);
    checkOrder('column', columnOrder, rowElements, fail);
  }
  return source;
}

/** Calls `fail` unless the order names each of `size` rows or columns once. */
function checkOrder(what: string, order: Uint32Array, size: number, fail: (message: string) => never): void {
  if (order.length !== size) fail(`its ${what} order has ${order.length} entries for ${size} ${what}s.`);
  const seen = new Uint8Array(size);
  for (const i of order) {
    if (i >= size || seen[i]) fail(`its ${what} order names ${what} ${i} twice, or it is not there.`);
    seen[i] = 1;
  }
}
