import {
  decodeElements,
  InvalidArgumentError,
  MemoryFile,
  UnsupportedError,
  type WeightDtype,
  weightDtypes,
} from '@hearth/core';
import { encodeElements } from '../tensor/encode.ts';
import { type TensorToWrite, tensorByteLength, tensorPieces } from '../tensor/tensor-to-write.ts';
import { transposedFile } from '../tensor/transposed-file.ts';
import type { GgufArchitecture } from './architecture.ts';
import { isNorm } from './checkpoint-tensors.ts';
import type { GgufValue } from './gguf.ts';
import type { GgufMetadataToWrite, GgufTypedValue } from './metadata-encoder.ts';
import { ropeRowOrder } from './rope-rows.ts';
import { type GgufName, toGgufName } from './tensor-names.ts';
import { ggufTensorTypeIds, ggufTensorTypes } from './tensor-types.ts';

/** Bytes given out at a time of what was put together in memory. */
const pieceBytes = 2 ** 20;

/**
 * Tensors with Hugging Face names and values as a GGUF file of this architecture keeps them: rows of queries and keys in rope
 * pairs, experts in one tensor, matrices the other way round, norms with a number added.
 * @throws UnsupportedError for a tensor that has no name in such files, InvalidArgumentError for experts that do not fit
 */
export function storedTensors(
  tensors: readonly TensorToWrite[],
  architecture: GgufArchitecture,
  metadata: GgufMetadataToWrite,
): TensorToWrite[] {
  const names = architecture.tensors;
  const stored: TensorToWrite[] = [];
  /** Of each stack: where it goes among the tensors, and its experts by number. */
  const stacks = new Map<string, { readonly at: number; readonly experts: TensorToWrite[] }>();
  for (const tensor of tensors) {
    if (names.ignoredHuggingFace?.test(tensor.name)) continue;
    const mapped = toGgufName(names, tensor.name);
    if (mapped === null) {
      throw new UnsupportedError(
        `Tensor "${tensor.name}" has no name in GGUF files of the architecture "${architecture.name}".`,
        { details: { tensor: tensor.name } },
      );
    }
    const { storedName, expert } = mapped;
    if (expert === null) {
      stored.push(storedTensor(tensor, mapped, architecture, metadata));
      continue;
    }
    const stack = stacks.get(storedName) ?? { at: stored.push({ ...tensor, name: storedName }) - 1, experts: [] };
    stacks.set(storedName, stack);
    if (stack.experts[expert]) {
      throw new InvalidArgumentError(`Tensor "${tensor.name}" is there twice.`, { details: { tensor: tensor.name } });
    }
    stack.experts[expert] = tensor;
  }
  for (const [storedName, { at, experts }] of stacks) stored[at] = stackedExperts(storedName, experts);
  return stored;
}

function storedTensor(
  tensor: TensorToWrite,
  { storedName, module }: GgufName,
  architecture: GgufArchitecture,
  metadata: GgufMetadataToWrite,
): TensorToWrite {
  const names = architecture.tensors;
  const { dtype, shape } = tensor;
  const renamed = (data: TensorToWrite['data'], changes: Partial<TensorToWrite> = {}): TensorToWrite => {
    return { name: storedName, dtype, shape, ...changes, data };
  };
  const headsField = module === null ? undefined : names.ropeModules?.get(module);
  if (headsField !== undefined) {
    const numHeads = requireHeadCount(metadata, architecture, headsField);
    return renamed(() => permutedRows(tensor, numHeads));
  }
  if (module !== null && names.transposedModules?.has(module) && shape.length === 2) {
    const turned = { shape: [...shape].reverse() };
    return tensor.transposed ? renamed(() => tensor.data(), turned) : renamed(transposedData(tensor), turned);
  }
  if (names.normPlus !== undefined && isNorm(storedName) && tensor.plus !== names.normPlus) {
    return renamed(() => increasedData(tensor, names.normPlus!), { dtype: 'f32' });
  }
  return renamed(() => tensor.data());
}

/** @param experts by number; all of one type and shape, none missing */
function stackedExperts(storedName: string, experts: readonly TensorToWrite[]): TensorToWrite {
  const first = experts.find((expert) => expert !== undefined)!;
  const { dtype, shape } = first;
  // Not a method of arrays: those pass over the holes that missing experts are.
  for (let i = 0; i < experts.length; i++) {
    const expert = experts[i];
    const isAlike = expert?.dtype === dtype && expert.shape.join() === shape.join();
    if (isAlike) continue;
    throw new InvalidArgumentError(
      expert
        ? `Tensor "${expert.name}" (${expert.dtype}, [${expert.shape.join(', ')}]) must be like the other experts (${dtype}, [${shape.join(', ')}]): they are one tensor in GGUF.`
        : `Expert ${i} is missing among the ${experts.length} like "${first.name}", which are one tensor in GGUF.`,
      { details: { tensor: expert?.name ?? first.name, expert: i } },
    );
  }
  return {
    name: storedName,
    dtype,
    shape: [experts.length, ...shape],
    async *data() {
      for (const expert of experts) yield* tensorPieces(expert, byteLengthOf(expert), undefined);
    },
  };
}

async function permutedRows(tensor: TensorToWrite, numHeads: number): Promise<Uint8Array> {
  const bytes = await wholeData(tensor);
  const order = ropeRowOrder(tensor.shape[0]!, numHeads, tensor.name);
  const rowBytes = bytes.length / order.length;
  const permuted = new Uint8Array(bytes.length);
  for (let row = 0; row < order.length; row++) {
    permuted.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), order[row]! * rowBytes);
  }
  return permuted;
}

function transposedData(tensor: TensorToWrite): TensorToWrite['data'] {
  const { name, dtype } = tensor;
  const { blockElements, blockBytes } = ggufTensorTypes.get(requireTypeId(tensor))!;
  if (blockElements > 1) {
    throw new UnsupportedError(
      `Tensor "${name}" is kept the other way round in GGUF, and the blocks of ${dtype} cannot be transposed. Transpose it before it is quantized.`,
      { details: { tensor: name, dtype } },
    );
  }
  const shape = tensor.shape as readonly [number, number];
  return async function* () {
    const bytes = await wholeData(tensor);
    const source = { name, storedName: name, dtype, shape, offset: 0, byteLength: bytes.length };
    const file = transposedFile({ ...source, file: new MemoryFile(bytes, name) }, shape, blockBytes);
    for (let at = 0; at < bytes.length; at += pieceBytes) yield file.read(at, Math.min(pieceBytes, bytes.length - at));
  };
}

async function increasedData(tensor: TensorToWrite, plus: number): Promise<Uint8Array> {
  const { name, dtype } = tensor;
  if (!Object.hasOwn(weightDtypes, dtype)) {
    throw new InvalidArgumentError(`Tensor "${name}" has the type ${dtype}, to which ${plus} cannot be added.`, {
      details: { tensor: name, dtype },
    });
  }
  const values = decodeElements(dtype as WeightDtype, await wholeData(tensor));
  return encodeElements(
    'f32',
    values.map((value) => value + plus),
  );
}

async function wholeData(tensor: TensorToWrite): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteLengthOf(tensor));
  let filled = 0;
  for await (const piece of tensorPieces(tensor, bytes.length, undefined)) {
    bytes.set(piece, filled);
    filled += piece.length;
  }
  return bytes;
}

/** The bytes that type and shape of a tensor ask for. */
export function byteLengthOf(tensor: TensorToWrite): number {
  const { blockElements, blockBytes } = ggufTensorTypes.get(requireTypeId(tensor))!;
  return tensorByteLength(tensor, blockElements, blockBytes);
}

export function requireTypeId({ name, dtype }: TensorToWrite): number {
  const id = ggufTensorTypeIds.get(dtype);
  if (id !== undefined) return id;
  throw new InvalidArgumentError(`Tensor "${name}" has the type ${dtype}, which GGUF does not have.`, {
    details: { tensor: name, dtype },
  });
}

function requireHeadCount(
  metadata: GgufMetadataToWrite,
  architecture: GgufArchitecture,
  field: 'num_attention_heads' | 'num_key_value_heads',
): number {
  const heads = `${architecture.name}.attention.head_count`;
  const keyValueHeads = field === 'num_key_value_heads' ? metadata.get(`${heads}_kv`) : undefined;
  const value = plainValue(keyValueHeads ?? metadata.get(heads));
  if (typeof value === 'number') return value;
  throw new InvalidArgumentError(
    `Metadata key "${heads}" must be a number: the order of query and key rows depends on it.`,
  );
}

export function plainValue(value: GgufTypedValue | string | boolean | undefined): GgufValue | undefined {
  return typeof value === 'object' ? value.value : value;
}
