import { InvalidArgumentError, UnsupportedError } from '@hearth/core';
import { writeAside } from '../io/write-aside.ts';
import {
  checkTensorNames,
  type TensorToWrite,
  tensorByteLength,
  tensorPieces,
  writeTensorData,
} from '../tensor/tensor-to-write.ts';
import { findArchitecture, type GgufArchitecture, toGgufName } from './architectures.ts';
import type { GgufValue } from './gguf.ts';
import { llamaMetadata } from './llama-metadata.ts';
import { type GgufMetadataToWrite, type GgufTypedValue, HeaderEncoder } from './metadata-encoder.ts';
import { ropeRowOrder } from './rope-rows.ts';
import { ggufTensorTypeIds, ggufTensorTypes } from './tensor-types.ts';

const alignment = 32;

/** Of the block layouts: version 2 has f16 scales. */
const quantizationVersion = 2;

export interface WriteGgufOptions {
  readonly signal?: AbortSignal;
}

export interface RawGguf {
  readonly metadata: GgufMetadataToWrite;
  /** Under the names that the file shall have, rows in the order of the file. */
  readonly tensors: readonly TensorToWrite[];
}

export interface GgufModel {
  /** config.json of a Llama, which becomes metadata. Without it, `metadata` says everything. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Name of the model, kept as `general.name`. */
  readonly name?: string;
  /** Tokenizer and whatever else; it wins over what comes from `config`. */
  readonly metadata?: GgufMetadataToWrite;
  /** Under their Hugging Face names, rows in Hugging Face order. */
  readonly tensors: readonly TensorToWrite[];
}

/**
 * Writes a GGUF file (version 3, little endian) as it is given: names, rows and metadata are not changed. Written aside and
 * renamed; one piece of one tensor is in memory at a time.
 * @throws InvalidArgumentError for values and tensors that the format cannot hold
 */
export async function writeRawGguf(
  path: string,
  { metadata, tensors }: RawGguf,
  { signal }: WriteGgufOptions = {},
): Promise<void> {
  checkTensorNames(tensors);
  const header = new HeaderEncoder();
  header.raw(new TextEncoder().encode('GGUF'));
  header.u32(3);
  header.u64(tensors.length);
  const entries = [...metadata].filter(([key]) => key !== 'general.alignment');
  header.u64(entries.length);
  for (const [key, value] of entries) header.entry(key, value);
  const byteLengths: number[] = [];
  let offset = 0;
  for (const tensor of tensors) {
    const typeId = requireTypeId(tensor);
    const { blockElements, blockBytes } = ggufTensorTypes.get(typeId)!;
    const byteLength = tensorByteLength(tensor, blockElements, blockBytes);
    if (tensor.shape.length < 1 || tensor.shape.length > 4 || byteLength === 0) {
      throw new InvalidArgumentError(
        `Tensor "${tensor.name}" has the shape [${tensor.shape.join(', ')}]; GGUF takes 1 to 4 dimensions above 0.`,
      );
    }
    header.string(tensor.name);
    header.u32(tensor.shape.length);
    for (const dim of [...tensor.shape].reverse()) header.u64(dim);
    header.u32(typeId);
    header.u64(offset);
    offset += Math.ceil(byteLength / alignment) * alignment;
    byteLengths.push(byteLength);
  }
  await writeAside(path, async (sink) => {
    await sink.write(header.finish());
    for (const [i, tensor] of tensors.entries()) {
      await sink.alignTo(alignment);
      await writeTensorData(sink, tensor, byteLengths[i]!, signal);
    }
    await sink.alignTo(alignment);
  });
}

/**
 * Writes a model as a GGUF file: tensors get their GGUF names, and the rows of query and key projections the order that GGUF
 * readers of Llama expect. Such tensors are in memory as a whole, others piece by piece.
 * @throws UnsupportedError for an architecture or tensor that GGUF names are not known for
 */
export async function writeGguf(path: string, model: GgufModel, options: WriteGgufOptions = {}): Promise<void> {
  const fromConfig = model.config && llamaMetadata(model.config);
  const isQuantized = model.tensors.some(({ dtype }) => /^(q|iq|tq)\d/.test(dtype));
  const metadata = new Map([
    ...(isQuantized ? ([['general.quantization_version', { type: 'u32', value: quantizationVersion }]] as const) : []),
    ...(fromConfig?.metadata ?? []),
    ...(model.name === undefined ? [] : ([['general.name', model.name]] as const)),
    ...(model.metadata ?? []),
  ]);
  const architectureName = plainValue(metadata.get('general.architecture'));
  if (typeof architectureName !== 'string') {
    throw new InvalidArgumentError('A GGUF file needs a config, or metadata with "general.architecture" as a string.');
  }
  const architecture = findArchitecture(architectureName, path);
  const tensors = model.tensors.map((tensor) => toStoredTensor(tensor, architecture, metadata));
  await writeRawGguf(path, { metadata, tensors: [...(fromConfig?.extraTensors ?? []), ...tensors] }, options);
}

function toStoredTensor(
  tensor: TensorToWrite,
  architecture: GgufArchitecture,
  metadata: GgufMetadataToWrite,
): TensorToWrite {
  const stored = toGgufName(architecture, tensor.name);
  if (stored === null) {
    throw new UnsupportedError(
      `Tensor "${tensor.name}" has no name in GGUF files of the architecture "${architecture.name}".`,
      { details: { tensor: tensor.name } },
    );
  }
  const headsField = stored.module === null ? undefined : architecture.ropeModules.get(stored.module);
  if (headsField === undefined) return { ...tensor, name: stored.storedName, data: () => tensor.data() };
  const numHeads = requireHeadCount(metadata, architecture, headsField);
  return { ...tensor, name: stored.storedName, data: () => permutedRows(tensor, numHeads) };
}

async function permutedRows(tensor: TensorToWrite, numHeads: number): Promise<Uint8Array> {
  const { blockElements, blockBytes } = ggufTensorTypes.get(requireTypeId(tensor))!;
  const byteLength = tensorByteLength(tensor, blockElements, blockBytes);
  const bytes = new Uint8Array(byteLength);
  let filled = 0;
  for await (const piece of tensorPieces(tensor, byteLength, undefined)) {
    bytes.set(piece, filled);
    filled += piece.length;
  }
  const order = ropeRowOrder(tensor.shape[0]!, numHeads, tensor.name);
  const rowBytes = byteLength / order.length;
  const permuted = new Uint8Array(byteLength);
  for (let row = 0; row < order.length; row++) {
    permuted.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), order[row]! * rowBytes);
  }
  return permuted;
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

function plainValue(value: GgufTypedValue | string | boolean | undefined): GgufValue | undefined {
  return typeof value === 'object' ? value.value : value;
}

function requireTypeId({ name, dtype }: TensorToWrite): number {
  const id = ggufTensorTypeIds.get(dtype);
  if (id !== undefined) return id;
  throw new InvalidArgumentError(`Tensor "${name}" has the type ${dtype}, which GGUF does not have.`, {
    details: { tensor: name, dtype },
  });
}
