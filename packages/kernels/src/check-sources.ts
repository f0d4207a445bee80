import {
  checkFileRange,
  InvalidModelError,
  isQuantizedDtype,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { dtypeNumbers } from './addon-types.ts';

/** A weight whose source has been found to agree with what the program wants. */
export interface CheckedWeight {
  readonly spec: WeightSpec;
  readonly source: WeightSource;
}

/**
 * The weights in the order in which they are loaded: vectors first, so that they lie together in a packed file.
 * @throws InvalidModelError that names the first weight whose source is missing or disagrees with its spec
 */
export function checkSources(
  specs: readonly WeightSpec[],
  sources: ReadonlyMap<string, WeightSource>,
): readonly CheckedWeight[] {
  const checked = specs.map((spec) => ({ spec, source: checkedSource(spec, sources.get(spec.name)) }));
  const ofRole = (role: WeightSpec['role']) => checked.filter(({ spec }) => spec.role === role);
  return [...ofRole('vector'), ...ofRole('matrix')];
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
