import { readFile, stat } from 'node:fs/promises';
import { InvalidModelError, isNestedDeeperThan } from '@hearth/core';

/** Deepest nesting that is accepted, because hashing and sending to a worker recurse. Real files have less than ten levels. */
const maxDepth = 64;

/** Whether `path` is a file (links are followed). */
export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/**
 * The bytes of a small file beside the weights; undefined when there is none.
 * @throws InvalidModelError when it is longer than `maxBytes` or cannot be read
 */
export async function readSmallFile(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw unreadable(path, error);
  });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw new InvalidModelError(`${path} is not a regular file.`, { details: { path } });
  if (stats.size > maxBytes) {
    throw new InvalidModelError(`${path} has ${stats.size} bytes; at most ${maxBytes} are accepted.`, {
      details: { path, size: stats.size, maxBytes },
    });
  }
  const buffer = await readFile(path).catch((error: Error) => {
    throw unreadable(path, error);
  });
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** A JSON object from a small file; undefined when there is no such file. A byte order mark is skipped. */
export async function readJsonObject(path: string, maxBytes: number): Promise<Record<string, unknown> | undefined> {
  const bytes = await readSmallFile(path, maxBytes);
  if (bytes === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new InvalidModelError(`${path} is not valid JSON: ${(cause as Error).message}`, { cause, details: { path } });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidModelError(`${path} must hold a JSON object.`, { details: { path } });
  }
  if (isNestedDeeperThan(value, maxDepth)) {
    throw new InvalidModelError(`${path} is nested more than ${maxDepth} levels deep.`, {
      details: { path, maxDepth },
    });
  }
  return value as Record<string, unknown>;
}

function unreadable(path: string, cause: Error): InvalidModelError {
  return new InvalidModelError(`${path} cannot be read: ${cause.message}.`, { cause, details: { path } });
}
