import { createHash } from 'node:crypto';
import { type FileMapper, InvalidModelError, type MappedFile, throwIfAborted } from '@hearth/core';
import { plainFileMapper } from '../io/plain-file-mapper.ts';
import { TimeSlice } from '../io/time-slice.ts';
import { parseHeader } from './parse-header.ts';
import type { SafetensorsHeader } from './safetensors.ts';

/** The limit of the format's reference implementation. */
const maxHeaderBytes = 100_000_000;

/** A few milliseconds of hashing. */
const hashChunkBytes = 4 * 2 ** 20;

export interface ReadSafetensorsOptions {
  /** How a path is opened: `plainFileMapper` by default. */
  readonly fileMapper?: FileMapper;
  readonly signal?: AbortSignal;
}

/**
 * Reads the header of one safetensors file: notes and tensor entries. Tensor data is not read. An open file stays open; a
 * path is opened and closed.
 *
 * @throws InvalidModelError when the file is damaged; it names the tensor, and wanted and real values
 * @throws UnsupportedError for a dtype that is not known
 */
export async function readSafetensors(
  source: string | MappedFile,
  options: ReadSafetensorsOptions = {},
): Promise<SafetensorsHeader> {
  if (typeof source !== 'string') return readHeader(source, options.signal);
  const file = await (options.fileMapper ?? plainFileMapper).open(source);
  try {
    return await readHeader(file, options.signal);
  } finally {
    await file.close();
  }
}

async function readHeader(file: MappedFile, signal: AbortSignal | undefined): Promise<SafetensorsHeader> {
  throwIfAborted(signal);
  if (file.size < 8) {
    throw invalid(file, `it has ${file.size} bytes, but a safetensors file starts with a header length of 8 bytes`);
  }
  const lengthBytes = await file.read(0, 8);
  // A bigint, so that lengths near 2^64 are neither negative nor rounded.
  const declared = new DataView(lengthBytes.buffer, lengthBytes.byteOffset).getBigUint64(0, true);
  if (declared > BigInt(file.size - 8)) {
    throw invalid(
      file,
      `its header length is ${declared} bytes, but only ${file.size - 8} follow. It is cut short or no safetensors file`,
    );
  }
  if (declared > BigInt(maxHeaderBytes)) {
    throw invalid(file, `its header length is ${declared} bytes, the format allows ${maxHeaderBytes}`);
  }
  const headerBytes = Number(declared);
  const dataOffset = 8 + headerBytes;
  const bytes = await file.read(8, headerBytes);
  const header = await parseHeader(bytes, file.path, dataOffset, file.size - dataOffset, signal);
  return { ...header, dataOffset, headerHash: await hashHeader(lengthBytes, bytes) };
}

async function hashHeader(lengthBytes: Uint8Array, bytes: Uint8Array): Promise<string> {
  const slice = new TimeSlice();
  const hash = createHash('sha256').update(lengthBytes);
  for (let start = 0; start < bytes.length; start += hashChunkBytes) {
    hash.update(bytes.subarray(start, start + hashChunkBytes));
    if (slice.isSpent) await slice.next();
  }
  return hash.digest('hex');
}

function invalid(file: MappedFile, problem: string): InvalidModelError {
  return new InvalidModelError(`${file.path}: ${problem}.`, { details: { path: file.path, size: file.size } });
}
