import { statfs } from 'node:fs/promises';
import { DiskFullError } from './errors.ts';

/** Left free on purpose: a disk filled to the last byte breaks other programs. 16 MiB. */
const RESERVE_BYTES = 16 * 1024 * 1024;

/**
 * Says early that a download cannot fit. Best effort: quotas are not seen here and show up as a failed write instead.
 * @throws DiskFullError
 */
export async function ensureDiskSpace(directory: string, neededBytes: number): Promise<void> {
  if (neededBytes <= 0) return;
  const status = await statfs(directory).catch(() => undefined);
  // Some network and FUSE file systems report no blocks at all.
  if (!status || status.blocks === 0) return;
  const freeBytes = status.bavail * status.bsize;
  if (freeBytes < neededBytes + RESERVE_BYTES) throw new DiskFullError(directory, neededBytes, freeBytes);
}

/** A failed write that means "no room" (full disk, quota, or the largest file the file system takes) as a `DiskFullError`. */
export async function asDiskFullError(error: unknown, directory: string, neededBytes: number): Promise<unknown> {
  const code = (error as NodeJS.ErrnoException)?.code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EFBIG') return error;
  const status = await statfs(directory).catch(() => undefined);
  return new DiskFullError(directory, neededBytes, status ? status.bavail * status.bsize : 0, { cause: error });
}
