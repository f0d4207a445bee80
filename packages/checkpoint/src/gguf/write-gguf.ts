import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import { writeAside } from '../io/write-aside.ts';
import { checkTensorNames, type TensorToWrite, writeTensorData } from '../tensor/tensor-to-write.ts';
import { architectureOf, findArchitecture } from './architectures.ts';
import { ConfigFields } from './config-fields.ts';
import { MetadataBuilder } from './metadata-builder.ts';
import { type GgufMetadataToWrite, type GgufTypedValue, HeaderEncoder } from './metadata-encoder.ts';
import { partsOf } from './split-tensors.ts';
import { byteLengthOf, plainValue, requireTypeId, storedTensors } from './stored-tensors.ts';

const alignment = 32;

/** Of the block layouts: version 2 has f16 scales. */
const quantizationVersion = 2;

export interface WriteGgufOptions {
  readonly signal?: AbortSignal;
}

export interface WriteGgufModelOptions extends WriteGgufOptions {
  /** Splits the model into files with at most this many bytes of tensors each (a single tensor may take more). */
  readonly maxShardBytes?: number;
}

export interface RawGguf {
  readonly metadata: GgufMetadataToWrite;
  /** Under the names that the file shall have, rows in the order of the file. */
  readonly tensors: readonly TensorToWrite[];
}

export interface GgufModel {
  /** config.json, which becomes metadata; its `model_type` chooses the architecture. Without it, `metadata` says everything. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Name of the model, kept as `general.name`. */
  readonly name?: string;
  /** Tokenizer and whatever else; it wins over what comes from `config`. */
  readonly metadata?: GgufMetadataToWrite;
  /** Under their Hugging Face names, as Hugging Face keeps them unless they say otherwise. */
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
    const byteLength = byteLengthOf(tensor);
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
 * Writes a model as a GGUF file: tensors get their GGUF names, and whatever GGUF keeps differently is changed (see
 * stored-tensors.ts). Tensors that change are in memory as a whole, others piece by piece.
 *
 * @returns the paths written: `path`, or with `maxShardBytes` perhaps `name-00001-of-00003.gguf` and so on beside it
 * @throws UnsupportedError for an architecture, tensor or field of the config that GGUF has no way to say
 */
export async function writeGguf(
  path: string,
  model: GgufModel,
  options: WriteGgufModelOptions = {},
): Promise<string[]> {
  const fromConfig = model.config && metadataFromConfig(model.config);
  const isQuantized = model.tensors.some(({ dtype }) => /^(q|iq|tq)\d/.test(dtype));
  const metadata = new Map<string, GgufTypedValue | string | boolean>([
    ...(isQuantized ? ([['general.quantization_version', { type: 'u32', value: quantizationVersion }]] as const) : []),
    ...(fromConfig?.metadata ?? []),
    ...(model.name === undefined ? [] : ([['general.name', model.name]] as const)),
    ...(model.metadata ?? []),
  ]);
  const architectureName = plainValue(metadata.get('general.architecture'));
  if (typeof architectureName !== 'string') {
    throw new InvalidArgumentError('A GGUF file needs a config, or metadata with "general.architecture" as a string.');
  }
  const stored = storedTensors(model.tensors, findArchitecture(architectureName, path), metadata);
  const parts = partsOf(path, { metadata, tensors: [...(fromConfig?.extraTensors ?? []), ...stored] }, options);
  const written: string[] = [];
  try {
    for (const { name, ...part } of parts) {
      const partPath = join(dirname(path), name);
      await writeRawGguf(partPath, part, options);
      written.push(partPath);
    }
  } catch (error) {
    // Parts without the others are of no use.
    await Promise.all(written.map((partPath) => rm(partPath, { force: true })));
    throw error;
  }
  return written;
}

function metadataFromConfig(config: Readonly<Record<string, unknown>>) {
  const architecture = architectureOf(config);
  const builder = new MetadataBuilder(architecture.name);
  const extraTensors = architecture.writeMetadata(new ConfigFields(config), builder);
  return { metadata: builder.entries, extraTensors };
}
