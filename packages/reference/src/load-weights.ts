import {
  decodeElements,
  InvalidModelError,
  isQuantizedDtype,
  type LoadWeightsOptions,
  splitQuantizedBlocks,
  throwIfAborted,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { EventLoopTurn } from './event-loop-turn.ts';
import { blockElements, type DenseMatrix, type Matrix, type QuantizedMatrix } from './matrix.ts';

/** Weights as the ops read them, by name. */
export interface LoadedWeights {
  readonly matrices: ReadonlyMap<string, Matrix>;
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly sourceBytes: number;
}

/** Bytes that are read from a file and converted at a time. */
const chunkBytes = 2 ** 21;

/** Reads and converts every weight of `specs`. See `Backend.loadWeights` for the errors. */
export async function loadWeights(
  specs: readonly WeightSpec[],
  sources: ReadonlyMap<string, WeightSource>,
  { signal, onProgress }: LoadWeightsOptions = {},
): Promise<LoadedWeights> {
  const found = specs.map((spec) => ({ spec, source: checkedSource(spec, sources.get(spec.name)) }));
  const totalBytes = found.reduce((sum, { source }) => sum + source.byteLength, 0);
  const matrices = new Map<string, Matrix>();
  const vectors = new Map<string, Float32Array>();
  const turn = new EventLoopTurn(signal);
  let doneBytes = 0;
  const onBytes = async (bytes: number) => {
    doneBytes += bytes;
    onProgress?.({ doneBytes, totalBytes });
    throwIfAborted(signal);
    if (turn.isOver) await turn.pass();
  };
  throwIfAborted(signal);
  for (const { spec, source } of found) {
    if (spec.role === 'matrix') matrices.set(spec.name, await readMatrix(source, onBytes));
    else vectors.set(spec.name, await readVector(source, onBytes));
  }
  return { matrices, vectors, sourceBytes: totalBytes };
}

type OnBytes = (bytes: number) => Promise<void>;

async function readMatrix(source: WeightSource, onBytes: OnBytes): Promise<Matrix> {
  const [rows, columns] = source.shape as [number, number];
  const { dtype } = source;
  // Where each row of the file goes.
  const destination = source.rowOrder ? inverse(source.rowOrder) : null;
  const matrix = isQuantizedDtype(dtype) ? emptyQuantized(dtype, rows, columns) : emptyDense(rows, columns);
  await readRows(source, rows, columns, onBytes, (bytes, firstRow, numRows) => {
    const chunk = convert(dtype, bytes, numRows, columns);
    for (let i = 0; i < numRows; i++) {
      copyRow(chunk, i, matrix, destination ? destination[firstRow + i]! : firstRow + i);
    }
  });
  return matrix;
}

async function readVector(source: WeightSource, onBytes: OnBytes): Promise<Float32Array> {
  const length = source.shape[0]!;
  const vector = new Float32Array(length);
  await readRows(source, 1, length, onBytes, (bytes) => {
    vector.set(decodeElements(source.dtype, bytes));
  });
  if (!source.rowOrder) return vector;
  return vector.map((_, i) => vector[source.rowOrder![i]!]!);
}

/** Reads whole rows, a chunk at a time. */
async function readRows(
  source: WeightSource,
  rows: number,
  columns: number,
  onBytes: OnBytes,
  onRows: (bytes: Uint8Array, firstRow: number, numRows: number) => void,
): Promise<void> {
  const rowBytes = weightByteLength(source.dtype, columns);
  const rowsPerChunk = Math.max(1, Math.floor(chunkBytes / rowBytes));
  for (let row = 0; row < rows; row += rowsPerChunk) {
    const numRows = Math.min(rowsPerChunk, rows - row);
    const bytes = await source.file.read(source.offset + row * rowBytes, numRows * rowBytes);
    onRows(bytes, row, numRows);
    await onBytes(bytes.length);
  }
}

function emptyDense(rows: number, columns: number): DenseMatrix {
  return { kind: 'dense', rows, columns, values: new Float32Array(rows * columns) };
}

function emptyQuantized(dtype: WeightDtype, rows: number, columns: number): QuantizedMatrix {
  const numBlocks = (rows * columns) / blockElements;
  return {
    kind: 'quantized',
    rows,
    columns,
    codes: new Int8Array(rows * columns),
    scales: new Float32Array(numBlocks),
    mins: dtype === 'q4_1' ? new Float32Array(numBlocks) : null,
  };
}

function convert(dtype: WeightDtype, bytes: Uint8Array, rows: number, columns: number): Matrix {
  if (!isQuantizedDtype(dtype)) return { kind: 'dense', rows, columns, values: decodeElements(dtype, bytes) };
  const { codes, scales, mins = null } = splitQuantizedBlocks(dtype, bytes);
  return { kind: 'quantized', rows, columns, codes, scales, mins };
}

function copyRow(from: Matrix, fromRow: number, to: Matrix, toRow: number): void {
  const copy = <T extends Float32Array | Int8Array>(source: T, target: T, width: number): void => {
    target.set(source.subarray(fromRow * width, (fromRow + 1) * width), toRow * width);
  };
  if (from.kind === 'dense' && to.kind === 'dense') {
    copy(from.values, to.values, to.columns);
  } else if (from.kind === 'quantized' && to.kind === 'quantized') {
    copy(from.codes, to.codes, to.columns);
    copy(from.scales, to.scales, to.columns / blockElements);
    if (from.mins && to.mins) copy(from.mins, to.mins, to.columns / blockElements);
  }
}

function inverse(order: Uint32Array): Uint32Array {
  const result = new Uint32Array(order.length);
  for (const [i, row] of order.entries()) result[row] = i;
  return result;
}

/** Checks that a source is what its spec asks for, before anything is allocated for it. */
function checkedSource(spec: WeightSpec, source: WeightSource | undefined): WeightSource {
  const { name, role, shape } = spec;
  const fail = (message: string): never => {
    throw new InvalidModelError(`${name}: ${message}`, { details: { tensor: name } });
  };
  if (!source) return fail(`the model needs this ${role} of [${shape}], the checkpoint does not have it.`);
  const { dtype, byteLength, rowOrder } = source;
  const info = weightDtypes[dtype];
  if (!info) fail(`its type ${dtype} is not one of ${Object.keys(weightDtypes).join(', ')}.`);
  if (source.shape.join() !== shape.join()) fail(`it is [${source.shape}], the model needs [${shape}].`);
  if (shape.length !== (role === 'matrix' ? 2 : 1)) fail(`a ${role} cannot have the shape [${shape}].`);
  const columns = shape.at(-1)!;
  if (columns % info.blockElements !== 0) {
    fail(`rows of ${columns} elements cannot be ${dtype}, whose blocks have ${info.blockElements}.`);
  }
  const expected = weightByteLength(
    dtype,
    shape.reduce((product, size) => product * size, 1),
  );
  if (byteLength !== expected) fail(`[${shape}] in ${dtype} takes ${expected} bytes, its source has ${byteLength}.`);
  if (rowOrder && (rowOrder.length !== shape[0] || new Set(rowOrder).size !== rowOrder.length)) {
    fail(`its row order must name each of ${shape[0]} rows once.`);
  }
  if (rowOrder?.some((row) => row >= shape[0]!)) fail(`its row order names a row past ${shape[0]! - 1}.`);
  return source;
}
