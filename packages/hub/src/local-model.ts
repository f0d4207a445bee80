import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { InvalidModelError } from '@hearth/core';
import { ModelNotFoundError } from './errors.ts';
import type { ResolvedModel } from './resolved-model.ts';

/** How many names a message lists before it says "and N more". */
const MAX_LISTED = 8;

/**
 * Resolves a file or directory of this machine. A directory is a Hugging Face model (config.json beside its weights) or
 * holds exactly one GGUF file. `spec` is what the user typed, for messages.
 * @throws ModelNotFoundError with where was looked and what is there, InvalidModelError for a file of another kind
 */
export async function resolveLocalModel(file: string, spec = file): Promise<ResolvedModel> {
  const status = await stat(file).catch(async (error: NodeJS.ErrnoException) => {
    throw await notThere(file, spec, error);
  });
  if (status.isDirectory()) return resolveDirectory(file);
  // Opening a pipe waits for its writer, perhaps for ever; a device has no end.
  if (!status.isFile()) throw new InvalidModelError(`${file} is not a regular file.`, { details: { path: file } });
  if (!(await isGguf(file))) {
    const advice = /\.(safetensors|json|jinja)$/i.test(file)
      ? `Name the directory instead: ${path.dirname(file)}.`
      : 'Hearth reads GGUF files and directories with config.json and model.safetensors.';
    throw new InvalidModelError(`${file} is no model file that can be opened alone. ${advice}`, {
      details: { path: file },
    });
  }
  return localModel('gguf', file, status.size);
}

/** By its first bytes; the ending counts too, so that a damaged file gets the reader's better message. */
async function isGguf(file: string): Promise<boolean> {
  if (/\.gguf$/i.test(file)) return true;
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString('latin1') === 'GGUF';
  } finally {
    await handle.close();
  }
}

async function resolveDirectory(directory: string): Promise<ResolvedModel> {
  const names = (await readdir(directory)).sort();
  if (names.includes('config.json')) {
    const sizes = await Promise.all(names.map((name) => sizeOfFile(path.join(directory, name))));
    return localModel(
      'directory',
      directory,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  }
  const ggufs = names.filter((name) => /\.gguf$/i.test(name));
  if (ggufs.length === 1) return resolveLocalModel(path.join(directory, ggufs[0]!));
  throw new ModelNotFoundError(
    ggufs.length > 1
      ? `${directory} holds ${ggufs.length} GGUF files; name one of them: ${listed(ggufs)}.`
      : `${directory} holds neither config.json nor a GGUF file, so it is no model.`,
    { details: { path: directory, files: ggufs } },
  );
}

async function sizeOfFile(file: string): Promise<number> {
  const status = await stat(file).catch(() => undefined);
  return status?.isFile() ? status.size : 0;
}

function localModel(kind: ResolvedModel['kind'], file: string, sizeBytes: number): ResolvedModel {
  const name = path.basename(file).replace(/\.gguf$/i, '');
  return { kind, path: file, name, source: { type: 'local', location: file }, sizeBytes };
}

/** Says how far the path exists, and what lies where it ends: most often a letter is wrong. */
async function notThere(file: string, spec: string, error: NodeJS.ErrnoException): Promise<ModelNotFoundError> {
  const options = { cause: error, details: { path: file } };
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') {
    return new ModelNotFoundError(`${file} cannot be read (${error.code ?? error.message}).`, options);
  }
  let parent = path.dirname(file);
  while (!(await stat(parent).catch(() => undefined)) && parent !== path.dirname(parent)) parent = path.dirname(parent);
  const names = await readdir(parent).catch(() => [] as string[]);
  const ggufs = names.filter((name) => /\.gguf$/i.test(name));
  const beside = ggufs.length > 0 ? ` It holds ${listed(ggufs)}.` : '';
  const isAmbiguous = /^[\w-][\w.-]*\/[\w.-]+$/.test(spec);
  const hint = isAmbiguous ? ` If a Hugging Face repository is meant, write hf:${spec}.` : '';
  return new ModelNotFoundError(
    `There is no file or directory ${file}. ${parent} is as far as the path exists.${beside}${hint}`,
    options,
  );
}

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_LISTED;
  return names.slice(0, MAX_LISTED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
