import {
  blockProblem,
  decodeElements,
  emptyQuantizedBlocks,
  InvalidModelError,
  isQuantizedDtype,
  type LoadWeightsOptions,
  splitQuantizedBlocks,
  throwIfAborted,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { EventLoopTurn } from './event-loop-turn.ts';
import type { Matrix } from './matrix.ts';

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
  // Where each row of the file goes.
  const destination = source.rowOrder ? inverse(source.rowOrder) : null;
  const matrix = emptyMatrix(source, rows, columns);
  await readRows(source, rows, columns, onBytes, (bytes, firstRow, numRows) => {
    const chunk = convert(source, bytes, numRows, columns);
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
    const problem = blockProblem(source.dtype, bytes);
    if (problem) fail(source.name, `${problem}.`);
    onRows(bytes, row, numRows);
    await onBytes(bytes.length);
  }
}

function emptyMatrix(source: WeightSource, rows: number, columns: number): Matrix {
  const { dtype, columnOrder = null } = source;
  if (!isQuantizedDtype(dtype)) return { kind: 'dense', rows, columns, values: new Float32Array(rows * columns) };
  return { kind: 'quantized', rows, columns, columnOrder, ...emptyQuantizedBlocks(dtype, rows * columns) };
}

function convert(source: WeightSource, bytes: Uint8Array, rows: number, columns: number): Matrix {
  const { dtype, columnOrder = null } = source;
  if (!isQuantizedDtype(dtype)) return { kind: 'dense', rows, columns, values: decodeElements(dtype, bytes) };
  return { kind: 'quantized', rows, columns, columnOrder, ...splitQuantizedBlocks(dtype, bytes) };
}

function copyRow(from: Matrix, fromRow: number, to: Matrix, toRow: number): void {
  const copy = <T extends Float32Array | Int8Array>(source: T | null, target: T | null): void => {
    if (!source || !target) return;
    const width = target.length / to.rows;
    target.set(source.subarray(fromRow * width, (fromRow + 1) * width), toRow * width);
  };
  if (from.kind === 'dense' && to.kind === 'dense') {
    copy(from.values, to.values);
  } else if (from.kind === 'quantized' && to.kind === 'quantized') {
    copy(from.codes, to.codes);
    copy(from.scales, to.scales);
    copy(from.subScales, to.subScales);
    copy(from.mins, to.mins);
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
  if (!source) return fail(name, `the model needs this ${role} of [${shape}], the checkpoint does not have it.`);
  const { dtype, byteLength, rowOrder, columnOrder } = source;
  const info = weightDtypes[dtype];
  if (!info) fail(name, `its type ${dtype} is not one of ${Object.keys(weightDtypes).join(', ')}.`);
  if (source.shape.join() !== shape.join()) fail(name, `it is [${source.shape}], the model needs [${shape}].`);
  if (shape.length !== (role === 'matrix' ? 2 : 1)) fail(name, `a ${role} cannot have the shape [${shape}].`);
  const columns = shape.at(-1)!;
  if (columns % info.blockElements !== 0) {
    fail(name, `rows of ${columns} elements cannot be ${dtype}, whose blocks have ${info.blockElements}.`);
  }
  const numElements = shape.reduce((product, size) => product * size, 1);
  const expected = weightByteLength(dtype, numElements);
  if (byteLength !== expected) {
    fail(name, `[${shape}] in ${dtype} takes ${expected} bytes, its source has ${byteLength}.`);
  }
  if (rowOrder) checkOrder(name, 'row', rowOrder, shape[0]!);
  if (columnOrder) {
    if (role !== 'matrix' || !isQuantizedDtype(dtype)) {
      fail(name, `only quantized matrices can have a column order, it is a ${role} of ${dtype}.`);
    }
    checkOrder(name, 'column', columnOrder, columns);
  }
  return source;
}

function checkOrder(name: string, what: 'row' | 'column', order: Uint32Array, length: number): void {
  if (order.length !== length || new Set(order).size !== length) {
    fail(name, `its ${what} order must name each of ${length} ${what}s once.`);
  }
  if (order.some((index) => index >= length)) fail(name, `its ${what} order names a ${what} past ${length - 1}.`);
}

function fail(name: string, message: string): never {
  throw new InvalidModelError(`${name}: ${message}`, { details: { tensor: name } });
}
