import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readSafetensors, readTensor } from '@hearth/checkpoint';
import { InvalidArgumentError, InvalidModelError, MemoryFile } from '@hearth/core';
import { type GoldenManifest, parseManifest } from './manifest.ts';

/** A fixture: what a model should compute. */
export interface Goldens {
  readonly directory: string;
  readonly manifest: GoldenManifest;
  /** The values of a tensor of the manifest, row-major. */
  tensor(key: string): Promise<Float32Array>;
}

/**
 * Opens a folder with manifest.json and goldens.safetensors.
 * @throws InvalidModelError when a file is missing, or not the one that the manifest was made with
 */
export async function openGoldens(directory: string): Promise<Goldens> {
  const manifestPath = join(directory, 'manifest.json');
  const manifest = parseManifest(await read(manifestPath, 'utf8'), manifestPath);
  const path = join(directory, 'goldens.safetensors');
  const bytes = await read(path);
  const expected = manifest.files.get('goldens.safetensors')?.sha256;
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== expected) {
    throw new InvalidModelError(
      `${path} has the SHA-256 ${found}, but its manifest names ${expected}. Make both again.`,
      {
        details: { path, expected, found },
      },
    );
  }
  const file = new MemoryFile(bytes, path);
  const header = await readSafetensors(file);
  const tensors = new Map(header.tensors.map((tensor) => [tensor.name, tensor]));
  return {
    directory,
    manifest,
    async tensor(key) {
      const tensor = tensors.get(key);
      if (!tensor) throw new InvalidArgumentError(`${path} has no tensor ${key}.`, { details: { path, key } });
      return readTensor({ ...tensor, storedName: key, file });
    },
  };
}

async function read(path: string): Promise<Uint8Array>;
async function read(path: string, encoding: 'utf8'): Promise<string>;
async function read(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
  try {
    return await readFile(path, encoding);
  } catch (cause) {
    throw new InvalidModelError(`The goldens are incomplete, ${path} cannot be read: ${(cause as Error).message}.`, {
      cause,
      details: { path },
    });
  }
}
