import {
  bf16ToF32,
  checkFileRange,
  dequantizeBlocks,
  f16ToF32,
  InvalidModelError,
  isQuantizedDtype,
  type LoadWeightsOptions,
  packedByteLength,
  splitQuantizedBlocks,
  throwIfAborted,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { dtypeNumbers, type NativeWeights } from './addon-types.ts';
import { NativeMappedFile } from './file-mapper.ts';

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
      const index = native.addMatrix(dtypeNumbers[source.dtype], rows, columns, source.rowOrder);
      byName.set(spec.name, { spec, index });
      packedBytes += packedByteLength(source.dtype, rows, columns);
      await packMatrixRows(native, index, source, rows, options.signal, advance);
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

/** A vector as f32, in the spec's order. */
async function readVector(source: WeightSource): Promise<Float32Array> {
  const bytes = await source.file.read(source.offset, source.byteLength);
  const values = toFloats(source.dtype, bytes);
  return source.rowOrder ? Float32Array.from(source.rowOrder, (i) => values[i]!) : values;
}

function toFloats(dtype: WeightSource['dtype'], bytes: Uint8Array): Float32Array {
  if (isQuantizedDtype(dtype)) return dequantizeBlocks(splitQuantizedBlocks(dtype, bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(bytes.length / weightDtypes[dtype].blockBytes);
  for (let i = 0; i < values.length; i++) {
    if (dtype === 'f32') values[i] = view.getFloat32(4 * i, true);
    else values[i] = dtype === 'f16' ? f16ToF32(view.getUint16(2 * i, true)) : bf16ToF32(view.getUint16(2 * i, true));
  }
  return values;
}

/** The source of a spec, once everything about it agrees. */
function checkedSource(spec: WeightSpec, source: WeightSource | undefined): WeightSource {
  const fail = (message: string): never => {
    throw new InvalidModelError(`Weight ${spec.name}: ${message}`, { details: { name: spec.name } });
  };
  if (!source) return fail('the model does not have it.');
  const { dtype, shape, rowOrder } = source;
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
  if (rowOrder) {
    const seen = new Uint8Array(shape[0]!);
    for (const row of rowOrder) {
      if (row >= seen.length || seen[row]) fail(`its row order names row ${row} twice, or it is not there.`);
      seen[row] = 1;
    }
    if (rowOrder.length !== seen.length) fail(`its row order has ${rowOrder.length} entries for ${seen.length} rows.`);
  }
  return source;
}
