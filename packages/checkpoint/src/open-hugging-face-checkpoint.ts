import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FileMapper, InvalidModelError, type MappedFile, throwIfAborted, UnsupportedError } from '@hearth/core';
import type { ChatTemplateSources, Checkpoint, CheckpointTensor, TokenizerSource } from './checkpoint.ts';
import { closeAll } from './io/close-all.ts';
import { isFile, readJsonObject, readSmallFile } from './io/read-json.ts';
import { isConv1d } from './prequantized/conv1d.ts';
import type { Quantization } from './prequantized/quantization.ts';
import { quantizedTensors } from './prequantized/quantized-tensors.ts';
import { readQuantization } from './prequantized/read-quantization.ts';
import { readSafetensors } from './safetensors/read-safetensors.ts';
import { indexFileName, readShardIndex, type ShardIndex } from './safetensors/shard-index.ts';

const singleFileName = 'model.safetensors';
/** Larger than any config or template, small enough that parsing it does not hold the event loop for long. */
const maxConfigBytes = 8 * 2 ** 20;
/** The largest known tokenizer.json are near 35 MB. */
const maxTokenizerBytes = 256 * 2 ** 20;

interface WeightFiles {
  /** Paths of the weight files, in a fixed order. */
  readonly paths: readonly string[];
  readonly index: ShardIndex | undefined;
  readonly warnings: readonly string[];
}

/** Opens a Hugging Face directory: config.json beside model.safetensors, or beside shards and their index. */
export async function openHuggingFaceDirectory(
  directory: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<Checkpoint> {
  return openWeightFiles(directory, directory, await findWeightFiles(directory), fileMapper, signal);
}

/** Opens one .safetensors file that holds the whole model, with config.json and the tokenizer beside it. */
export async function openSafetensorsFile(
  path: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<Checkpoint> {
  const directory = dirname(path);
  const name = basename(path);
  const isNumbered = /-\d{5}-of-\d{5}\.safetensors$/.test(name) && !name.endsWith('-00001-of-00001.safetensors');
  if (isNumbered && (await isFile(join(directory, indexFileName)))) {
    throw new UnsupportedError(`${path} is one of several shards. Open its directory instead: ${directory}`, {
      details: { path, directory },
    });
  }
  return openWeightFiles(path, directory, { paths: [path], index: undefined, warnings: [] }, fileMapper, signal);
}

async function findWeightFiles(directory: string): Promise<WeightFiles> {
  const single = join(directory, singleFileName);
  const indexPath = join(directory, indexFileName);
  if (await isFile(single)) {
    // As Transformers does: the single file is complete by itself, an index beside it is a leftover of another upload.
    const warnings = (await isFile(indexPath))
      ? [`${indexPath} was ignored, because ${singleFileName} lies beside it and holds a whole model.`]
      : [];
    return { paths: [single], index: undefined, warnings };
  }
  const index = await readShardIndex(indexPath);
  if (index) return { paths: [...index.shards.keys()].map((shard) => join(directory, shard)), index, warnings: [] };
  const others = await readdir(directory).catch(() => [] as string[]);
  const gguf = others.filter((name) => name.endsWith('.gguf')).slice(0, 3);
  const pickled = others.some((name) => /^pytorch_model.*\.bin(\.index\.json)?$/.test(name));
  const hint =
    gguf.length > 0
      ? ` It holds ${gguf.join(', ')}: open that file itself.`
      : pickled
        ? ' It holds pytorch_model.bin, which can run code when it is read and is not supported: convert it to safetensors.'
        : '';
  throw new InvalidModelError(`${directory} has neither ${singleFileName} nor ${indexFileName}.${hint}`, {
    details: { path: directory },
  });
}

async function openWeightFiles(
  path: string,
  directory: string,
  weightFiles: WeightFiles,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<Checkpoint> {
  const configPath = join(directory, 'config.json');
  const config = await readJsonObject(configPath, maxConfigBytes);
  if (config === undefined) {
    throw new InvalidModelError(`${configPath} is missing; a safetensors model needs it to say what it computes.`, {
      details: { path: configPath },
    });
  }
  const tokenizerConfig = await readJsonObject(join(directory, 'tokenizer_config.json'), maxConfigBytes);
  const generationConfig = await readJsonObject(join(directory, 'generation_config.json'), maxConfigBytes);
  const tokenizer = await readTokenizer(directory, tokenizerConfig);
  const warnings = [...weightFiles.warnings];
  if (tokenizer === null) warnings.push(`${join(directory, 'tokenizer.json')} is missing, so text cannot be encoded.`);
  const quantization = readQuantization(config, configPath);
  if (quantization?.kind === 'fp8') warnings.push(...quantization.warnings);
  const weights = await openTensors(weightFiles, fileMapper, signal);
  return {
    format: 'safetensors',
    path,
    name: basename(path, '.safetensors'),
    config: withoutQuantization(config),
    tensors: await asModelNames(weights, config, quantization, signal),
    tokenizer,
    chatTemplate: await readChatTemplates(directory, tokenizerConfig),
    ...(generationConfig && { generationConfig }),
    warnings,
    files: weights.files,
    sizeBytes: weights.files.reduce((sum, file) => sum + file.size, 0),
    headerHash: createHash('sha256')
      .update(JSON.stringify([config, weights.headerHashes]))
      .digest('hex'),
    close: () => closeAll(weights.files),
  };
}

/** Tensors say themselves how they are quantized, once they were put together. */
function withoutQuantization(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { quantization_config, ...others } = config;
  return quantization_config ? others : config;
}

async function asModelNames(
  { files, tensors }: OpenTensors,
  config: Readonly<Record<string, unknown>>,
  quantization: Quantization | null,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, CheckpointTensor>> {
  try {
    if (quantization) {
      const isTransposed = (name: string) => isConv1d(config, name);
      return await quantizedTensors(tensors, quantization, { isTransposed, ...(signal && { signal }) });
    }
    const packed = [...tensors.values()].find(({ name }) => name.endsWith('.qweight'));
    if (packed === undefined) return tensors;
    throw new InvalidModelError(
      `${packed.file.path}: tensor "${packed.name}" is of a quantized matrix, but config.json has no quantization_config to say how. Old uploads have it in quantize_config.json or quant_config.json: add it to config.json, with its quant_method.`,
      { details: { path: packed.file.path, tensor: packed.name } },
    );
  } catch (error) {
    await closeAll(files);
    throw error;
  }
}

interface OpenTensors {
  readonly files: readonly MappedFile[];
  readonly tensors: Map<string, CheckpointTensor>;
  readonly headerHashes: readonly string[];
}

async function openTensors(
  { paths, index }: WeightFiles,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<OpenTensors> {
  const files: MappedFile[] = [];
  const tensors = new Map<string, CheckpointTensor>();
  const headerHashes: string[] = [];
  try {
    for (const path of paths) {
      throwIfAborted(signal);
      if (index && !(await isFile(path))) {
        throw new InvalidModelError(
          `${path} is missing, but ${indexFileName} says that it holds ${index.shards.get(basename(path))!.size} tensors. Download the model again.`,
          { details: { path, index: index.path } },
        );
      }
      const file = await fileMapper.open(path);
      files.push(file);
      const header = await readSafetensors(file, signal ? { signal } : {});
      headerHashes.push(header.headerHash);
      if (index) {
        checkShard(
          index,
          path,
          header.tensors.map((tensor) => tensor.name),
        );
      }
      for (const tensor of header.tensors) tensors.set(tensor.name, { ...tensor, storedName: tensor.name, file });
    }
    if (tensors.size === 0) {
      throw new InvalidModelError(`${paths[0]} has no tensors.`, { details: { path: paths[0] } });
    }
    return { files, tensors, headerHashes };
  } catch (error) {
    await closeAll(files);
    throw error;
  }
}

/** A shard must hold exactly the tensors that the index puts there. So no tensor can be in two shards either. */
function checkShard(index: ShardIndex, path: string, names: readonly string[]): void {
  const expected = index.shards.get(basename(path))!;
  const found = new Set(names);
  const missing = [...expected].filter((name) => !found.has(name));
  if (missing.length > 0) {
    throw new InvalidModelError(
      `${path} lacks ${describe(missing)}, which ${indexFileName} says it holds. The download is incomplete or the index belongs to other files.`,
      { details: { path, missing: missing.slice(0, 10) } },
    );
  }
  const unlisted = names.filter((name) => !expected.has(name));
  if (unlisted.length > 0) {
    throw new InvalidModelError(
      `${path} holds ${describe(unlisted)}, which ${indexFileName} does not list for it. The index belongs to other files.`,
      { details: { path, unlisted: unlisted.slice(0, 10) } },
    );
  }
}

function describe(names: readonly string[]): string {
  return names.length === 1 ? `tensor "${names[0]}"` : `${names.length} tensors ("${names[0]}" and others)`;
}

async function readTokenizer(
  directory: string,
  config: Record<string, unknown> | undefined,
): Promise<TokenizerSource | null> {
  const json = await readSmallFile(join(directory, 'tokenizer.json'), maxTokenizerBytes);
  return json === undefined ? null : { kind: 'tokenizer-json', json, ...(config && { config }) };
}

async function readChatTemplates(
  directory: string,
  tokenizerConfig: Record<string, unknown> | undefined,
): Promise<ChatTemplateSources> {
  const jinja = await readSmallFile(join(directory, 'chat_template.jinja'), maxConfigBytes);
  const inConfig = tokenizerConfig?.chat_template;
  return {
    ...(jinja && { jinjaFile: new TextDecoder().decode(jinja) }),
    ...(inConfig !== undefined && inConfig !== null && { tokenizerConfig: inConfig }),
  };
}
