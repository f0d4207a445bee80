import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type FileMapper, InvalidModelError, type MappedFile, throwIfAborted } from '@hearth/core';
import { closeAll } from '../io/close-all.ts';
import { isFile } from '../io/read-json.ts';
import type { GgufHeader } from './gguf.ts';
import { readGguf } from './read-gguf.ts';

/** The largest models are in some 50 parts; each is an open file. */
const maxParts = 1024;

export interface GgufPart {
  readonly file: MappedFile;
  readonly header: GgufHeader;
}

export interface GgufParts {
  /** In order; the first has the metadata of the model. One, when the file is not split. */
  readonly parts: readonly [GgufPart, ...GgufPart[]];
  /** Of the file, or of the parts together, without extension. */
  readonly baseName: string;
  /** SHA-256 in hex over the headers of all parts. */
  readonly headerHash: string;
}

/** `name-00002-of-00003.gguf` for part 2 of 3. */
export function partName(baseName: string, part: number, count: number): string {
  const number = (value: number) => String(value).padStart(5, '0');
  return `${baseName}-${number(part)}-of-${number(count)}.gguf`;
}

/**
 * Opens a GGUF file, and when it is a part of a split one, all the others beside it.
 * @throws InvalidModelError that names the part which is missing, renamed, or none of this model
 */
export async function openParts(
  path: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
): Promise<GgufParts> {
  const opened: GgufPart[] = [];
  try {
    const asked = await openPart(path, fileMapper, signal, opened);
    const count = asked.header.metadata.get('split.count');
    if (typeof count !== 'number' || count <= 1) {
      return { parts: [asked], baseName: basename(path, '.gguf'), headerHash: asked.header.headerHash };
    }
    const baseName = baseNameOf(path, count);
    const parts: GgufPart[] = [];
    for (let i = 1; i <= count; i++) {
      const partPath = join(dirname(path), partName(baseName, i, count));
      if (partPath !== path && !(await isFile(partPath))) {
        fail(partPath, `is missing, but ${basename(path)} is one of ${count} parts of a model. Download it again`);
      }
      const part = partPath === path ? asked : await openPart(partPath, fileMapper, signal, opened);
      checkPart(part, i, asked);
      parts.push(part);
    }
    checkTensors(parts, asked);
    const hash = createHash('sha256');
    for (const { header } of parts) hash.update(header.headerHash);
    return { parts: parts as [GgufPart, ...GgufPart[]], baseName, headerHash: hash.digest('hex') };
  } catch (error) {
    await closeAll(opened.map(({ file }) => file));
    throw error;
  }
}

async function openPart(
  path: string,
  fileMapper: FileMapper,
  signal: AbortSignal | undefined,
  opened: GgufPart[],
): Promise<GgufPart> {
  throwIfAborted(signal);
  const file = await fileMapper.open(path);
  try {
    const part = { file, header: await readGguf(file, signal ? { signal } : {}) };
    opened.push(part);
    return part;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** What the names of all parts start with. */
function baseNameOf(path: string, count: number): string {
  if (count > maxParts) fail(path, `is one of ${count} parts; at most ${maxParts} are opened`);
  const match = /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(basename(path));
  if (match && Number(match[2]) === count) return match[1]!;
  return fail(
    path,
    `is one of ${count} parts of a model, so its name must end in ${partName('', 1, count)} or the like; without it the others are not found`,
  );
}

function checkPart({ file, header }: GgufPart, number: number, asked: GgufPart): void {
  const index = header.metadata.get('split.no');
  if (index !== number - 1) {
    const found = typeof index === 'number' ? `part ${index + 1}` : 'no part of a split model';
    fail(
      file.path,
      `is called part ${number}, but says that it is ${found}. It was renamed, or belongs to another model`,
    );
  }
  for (const key of ['split.count', 'split.tensors.count']) {
    const [value, expected] = [header.metadata.get(key), asked.header.metadata.get(key)];
    if (value === expected) continue;
    fail(
      file.path,
      `says ${String(value)} for "${key}", but ${basename(asked.file.path)} says ${String(expected)}. They belong to different models`,
    );
  }
}

/** No tensor is in two parts, and together they are as many as every part says. */
function checkTensors(parts: readonly GgufPart[], asked: GgufPart): void {
  const homes = new Map<string, string>();
  for (const { file, header } of parts) {
    for (const { name } of header.tensors) {
      const other = homes.get(name);
      if (other)
        fail(file.path, `has the tensor "${name}", which ${basename(other)} has too. They belong to different models`);
      homes.set(name, file.path);
    }
  }
  const expected = asked.header.metadata.get('split.tensors.count');
  if (expected !== undefined && expected !== homes.size) {
    fail(asked.file.path, `says that all parts together have ${String(expected)} tensors, but they have ${homes.size}`);
  }
}

function fail(path: string, problem: string): never {
  throw new InvalidModelError(`${path} ${problem}.`, { details: { path } });
}
