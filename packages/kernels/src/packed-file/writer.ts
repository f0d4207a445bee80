import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AbortError, DerivedFile } from '@hearth/core';
import type { NativeWeights } from '../addon-types.ts';
import type { CheckedWeight } from '../check-sources.ts';
import { toHearthError } from '../native-errors.ts';
import { leavesRoom, makeDirectory, makeRoom, partName } from './directory.ts';
import { encodeHeader, packedFileFormat } from './header.ts';
import type { PackedFile } from './packed-file.ts';
import { sampleHash } from './sample.ts';

/**
 * Writes weights that were just packed to a file, for the next load. It works in the background, on a thread of its own, and
 * fails with a warning and nothing else: the model runs without it.
 *
 * The file is written aside, synced, and renamed when it is whole. Processes that write the same one at once do not meet;
 * the last one to finish stays.
 */
export class PackedFileWriter {
  readonly #native: NativeWeights;
  readonly #file: PackedFile;
  /** Never rejects. */
  #writing: Promise<void> | undefined;
  #isCancelled = false;

  constructor(native: NativeWeights, file: PackedFile) {
    this.#native = native;
    this.#file = file;
  }

  /** Begins, unless it has begun before. Resolves when it is over, whatever came of it. */
  start(): Promise<void> {
    if (this.#isCancelled) return Promise.resolve();
    this.#writing ??= this.#write().catch((error) => {
      const reason = toHearthError(error);
      if (reason instanceof AbortError) return;
      const message = reason instanceof Error ? reason.message : String(reason);
      this.#file.cache.onWarning?.(`The packed weights were not kept for the next start. ${message}`);
    });
    return this.#writing;
  }

  /** Ends it soon, or prevents it. Resolves when the weights are no longer read. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#native.cancelWriting();
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { weights, layout, path } = this.#file;
    const { directory, maxBytes } = this.#file.cache;
    if (layout.fileBytes > maxBytes) return;
    await makeDirectory(directory);
    const space = await statfs(directory);
    if (!leavesRoom(layout.fileBytes, space)) {
      throw new Error(
        `${directory} has ${space.bavail * space.bsize} bytes free; ${layout.fileBytes} are taken only if as many stay free.`,
      );
    }
    if (!(await areUnchanged(weights))) return;
    const part = partName(path, randomBytes(6).toString('hex'));
    try {
      if (this.#isCancelled) return;
      await this.#native.writePacked(part, layout.offsets, layout.fileBytes);
      await this.#finish(part);
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
    await syncDirectory(dirname(path));
    await makeRoom(directory, maxBytes, path);
  }

  /** The header comes last: without it a file is none. */
  async #finish(part: string): Promise<void> {
    const { key, layout, cache } = this.#file;
    const { fileBytes } = layout;
    const handle = await open(part, 'r+');
    try {
      const sample = await sampleHash(fileBytes, (offset, length) => readFully(handle, offset, length));
      const header = encodeHeader({ format: packedFileFormat, key, fileBytes, sample, source: cache.source });
      await handle.write(header, 0, header.length, 0);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Whether the files still are what they were when they were opened: they may have been written to while they were packed. */
async function areUnchanged(weights: readonly CheckedWeight[]): Promise<boolean> {
  const files = weights.map(({ source: { file } }) => (file instanceof DerivedFile && file.origin?.file) || file);
  const onDisk = [...new Set(files)].filter(({ modifiedNs }) => modifiedNs !== undefined);
  const checks = onDisk.map(async ({ path, size, modifiedNs }) => {
    const status = await stat(path, { bigint: true });
    return status.size === BigInt(size) && status.mtimeNs === modifiedNs;
  });
  return (await Promise.all(checks)).every((same) => same);
}

async function readFully(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  if (bytesRead !== length) throw new Error(`${length} bytes were written at ${offset}, ${bytesRead} came back.`);
  return bytes;
}

/** Makes a rename survive a power cut. Not every system can. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
