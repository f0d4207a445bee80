import { Buffer } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type FileMapper,
  InvalidArgumentError,
  InvalidModelError,
  throwIfAborted,
  UnsupportedError,
} from '@hearth/core';
import type { Checkpoint, OpenCheckpointOptions } from './checkpoint.ts';
import { plainFileMapper } from './io/plain-file-mapper.ts';
import { openGgufCheckpoint } from './open-gguf-checkpoint.ts';
import { openHuggingFaceDirectory, openSafetensorsFile } from './open-hugging-face-checkpoint.ts';

/**
 * Opens a model: a .gguf file, a .safetensors file with config.json beside it, or a Hugging Face directory. Headers are read
 * and checked against the files; weights are not read. Close the checkpoint when its tensors are not needed any more.
 *
 * @param path absolute, relative to the working directory, or a file URL
 * @throws InvalidArgumentError when there is nothing at `path`
 * @throws InvalidModelError when the model is damaged or incomplete; it names the file, and the tensor or key
 * @throws UnsupportedError for formats, architectures and tensor types that are not known; it names them
 * @throws AbortError when `signal` fires
 */
export async function openCheckpoint(path: string | URL, options: OpenCheckpointOptions = {}): Promise<Checkpoint> {
  const { fileMapper = plainFileMapper, signal } = options;
  throwIfAborted(signal);
  const absolute = toAbsolutePath(path);
  const stats = await stat(absolute).catch((cause: Error) => {
    throw new InvalidArgumentError(`There is no model at ${absolute}: ${cause.message}.`, {
      cause,
      details: { path: absolute },
    });
  });
  if (stats.isDirectory()) return openHuggingFaceDirectory(absolute, fileMapper, signal);
  // Whatever the mapper does with them: opening a pipe waits for its writer, perhaps for ever.
  if (!stats.isFile()) {
    throw new InvalidModelError(`${absolute} is not a regular file.`, { details: { path: absolute } });
  }
  if (extname(absolute).toLowerCase() === '.safetensors') return openSafetensorsFile(absolute, fileMapper, signal);
  if (extname(absolute).toLowerCase() === '.gguf' || (await startsWithGguf(absolute, fileMapper))) {
    return openGgufCheckpoint(absolute, fileMapper, signal);
  }
  throw new UnsupportedError(
    `${absolute} is neither a .gguf nor a .safetensors file, nor a directory of a Hugging Face model.`,
    { details: { path: absolute } },
  );
}

function toAbsolutePath(path: string | URL): string {
  if (path instanceof URL || path.startsWith('file:')) {
    try {
      return fileURLToPath(path);
    } catch (cause) {
      throw new InvalidArgumentError(`"${path}" is not a URL of a local file.`, {
        cause,
        details: { path: String(path) },
      });
    }
  }
  if (path === '') throw new InvalidArgumentError('The path of a model must not be empty.');
  return resolve(path);
}

/** Files in a download cache have no extension; the first four bytes tell. */
async function startsWithGguf(path: string, fileMapper: FileMapper): Promise<boolean> {
  const file = await fileMapper.open(path);
  try {
    if (file.size < 4) return false;
    return Buffer.from(await file.read(0, 4)).toString('latin1') === 'GGUF';
  } finally {
    await file.close();
  }
}
