import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import { partialName } from '../io/write-aside.ts';
import { type WriteShardsOptions, writeShardedSafetensors } from '../safetensors/write-shards.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';

export interface HuggingFaceModel {
  /** Becomes config.json. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Under their Hugging Face names. */
  readonly tensors: readonly TensorToWrite[];
  readonly tokenizerJson?: Uint8Array | string;
  readonly tokenizerConfig?: Readonly<Record<string, unknown>>;
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  /** Becomes chat_template.jinja. */
  readonly chatTemplate?: string;
}

/**
 * Writes a model as a Hugging Face directory that Transformers and `openCheckpoint` read. The directory is written aside and
 * renamed when it is complete; it must not exist yet, or be empty.
 * @throws InvalidArgumentError when there is something in the directory already
 */
export async function writeHuggingFaceDirectory(
  path: string,
  model: HuggingFaceModel,
  options: WriteShardsOptions = {},
): Promise<void> {
  const directory = resolve(path);
  const existing = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new InvalidArgumentError(`${directory} cannot be written: ${error.message}.`, { cause: error });
  });
  if (existing && existing.length > 0) {
    throw new InvalidArgumentError(
      `${directory} is not empty (it holds ${existing.slice(0, 3).join(', ')}). Choose another directory: files of two models must not mix.`,
      { details: { path: directory } },
    );
  }
  const partial = partialName(directory);
  await mkdir(partial, { recursive: true });
  try {
    await writeShardedSafetensors(partial, model.tensors, options);
    await writeSmallFiles(partial, model);
    // Windows does not rename onto an empty directory.
    if (existing) await rmdir(directory);
    await rename(partial, directory);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function writeSmallFiles(directory: string, model: HuggingFaceModel): Promise<void> {
  const json = (value: unknown) => (value === undefined ? undefined : `${JSON.stringify(value, null, 2)}\n`);
  const files: Record<string, string | Uint8Array | undefined> = {
    'config.json': json(model.config),
    'generation_config.json': json(model.generationConfig),
    'tokenizer.json': model.tokenizerJson,
    'tokenizer_config.json': json(model.tokenizerConfig),
    'chat_template.jinja': model.chatTemplate,
  };
  for (const [name, contents] of Object.entries(files)) {
    if (contents !== undefined) await writeFile(join(directory, name), contents);
  }
}
