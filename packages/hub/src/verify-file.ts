import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AbortError } from '@hearth/core';
import { ContentHasher, type Digest } from './digest.ts';

/** Large reads: hashing is bound by the processor, not by system calls. */
const READ_BYTES = 1024 * 1024;

/** A file that is there and has the bytes that were asked for. */
export interface VerifiedFile {
  sizeBytes: number;
  modifiedMs: number;
  sha256: string;
}

/**
 * Hashes a file that is already there.
 * @returns undefined when it is missing, has another size, or other bytes
 */
export async function verifyFile(
  file: string,
  expected: { sizeBytes: number; digests: readonly Digest[] },
  signal: AbortSignal | undefined,
  onBytes?: (completedBytes: number) => void,
): Promise<VerifiedFile | undefined> {
  const status = await stat(file).catch(() => undefined);
  if (!status?.isFile() || status.size !== expected.sizeBytes) return undefined;
  const hasher = new ContentHasher(expected.digests, expected.sizeBytes);
  let completedBytes = 0;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES, ...(signal ? { signal } : {}) })) {
      hasher.update(chunk as Buffer);
      completedBytes += (chunk as Buffer).length;
      onBytes?.(completedBytes);
    }
  } catch (error) {
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    throw error;
  }
  const { sha256, mismatch } = hasher.finish();
  if (mismatch || completedBytes !== status.size) return undefined;
  return { sizeBytes: status.size, modifiedMs: status.mtimeMs, sha256 };
}
