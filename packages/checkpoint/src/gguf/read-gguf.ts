import type { FileMapper, MappedFile } from '@hearth/core';
import { UnsupportedError } from '@hearth/core';
import { plainFileMapper } from '../io/plain-file-mapper.ts';
import type { GgufHeader } from './gguf.ts';
import { HeaderReader } from './header-reader.ts';
import { type ParsedMetadata, readMetadata } from './read-metadata.ts';
import { placeTensors, readTensorInfos } from './read-tensor-infos.ts';

/** "GGUF" as a little-endian number. */
const magic = 0x46554747;

/** Where alignment is not given. */
const defaultAlignment = 32;

/** Data is aligned for vector loads and at most for pages; more only wastes the file. */
const maxAlignment = 2 ** 20;

/** The largest real headers are near 20 MB. */
const maxHeaderBytes = 256 * 2 ** 20;

export interface ReadGgufOptions {
  /** How a path is opened: `plainFileMapper` by default. */
  readonly fileMapper?: FileMapper;
  readonly signal?: AbortSignal;
}

/**
 * Reads the header of a GGUF file (version 2 or 3, little endian): metadata and tensor entries, of any architecture. Tensor
 * data is not read. An open file stays open; a path is opened and closed.
 *
 * Every count, length and offset is checked against the bytes of the file before it is used. The event loop is never held
 * for more than some 50 ms.
 *
 * @throws InvalidModelError when the file is damaged; it names the key or tensor, and wanted and real values
 * @throws UnsupportedError for a version, byte order or tensor type that is not known
 */
export async function readGguf(source: string | MappedFile, options: ReadGgufOptions = {}): Promise<GgufHeader> {
  if (typeof source !== 'string') return readHeader(source, options.signal);
  const file = await (options.fileMapper ?? plainFileMapper).open(source);
  try {
    return await readHeader(file, options.signal);
  } finally {
    await file.close();
  }
}

async function readHeader(file: MappedFile, signal: AbortSignal | undefined): Promise<GgufHeader> {
  const reader = new HeaderReader(file, maxHeaderBytes, signal);
  await reader.need(8, 'the start of a GGUF header');
  const fileMagic = reader.u32();
  if (fileMagic !== magic) {
    reader.fail(
      `this is not a GGUF file: it starts with the bytes ${hexBytes(fileMagic)}, expected 47 47 55 46 ("GGUF").`,
    );
  }
  const version = reader.u32();
  checkVersion(file, version);
  await reader.need(16, 'the counts of a GGUF header');
  const numTensors =
    reader.count() ?? reader.fail(`it declares ${reader.lastU64()} tensors, far more than fit the file.`);
  const numKeys =
    reader.count() ?? reader.fail(`it declares ${reader.lastU64()} metadata keys, far more than fit the file.`);
  const parsed = await readMetadata(reader, numKeys);
  const alignment = readAlignment(reader, parsed);
  const infos = await readTensorInfos(reader, numTensors);
  const dataOffset = Math.ceil(reader.position / alignment) * alignment;
  const tensors = placeTensors(reader, infos, alignment, dataOffset);
  return { version, ...parsed, tensors, alignment, dataOffset, headerHash: reader.digest() };
}

function checkVersion(file: MappedFile, version: number): void {
  if (version === 2 || version === 3) return;
  const details = { path: file.path, version };
  // A small version number in the other byte order has its bits in the upper half.
  if (version !== 0 && (version & 0xffff) === 0) {
    throw new UnsupportedError(
      `${file.path} is a big-endian GGUF file (its version reads 0x${version.toString(16)}). Only little-endian files are read; convert it first.`,
      { details },
    );
  }
  throw new UnsupportedError(
    `${file.path} has GGUF version ${version}; versions 2 and 3 are read. Convert the model again.`,
    {
      details,
    },
  );
}

function readAlignment(reader: HeaderReader, { metadata, metadataTypes }: ParsedMetadata): number {
  const key = 'general.alignment';
  const value = metadata.get(key);
  if (value === undefined) return defaultAlignment;
  const type = metadataTypes.get(key);
  if (type !== 'u32' || typeof value !== 'number') {
    return reader.fail(`metadata key "${key}" must be a u32, got ${type}.`, { key });
  }
  if (value < 1 || value > maxAlignment || (value & (value - 1)) !== 0) {
    return reader.fail(`metadata key "${key}" must be a power of two up to ${maxAlignment}, got ${value}.`, { key });
  }
  return value;
}

function hexBytes(littleEndian: number): string {
  return [0, 8, 16, 24].map((shift) => ((littleEndian >>> shift) & 255).toString(16).padStart(2, '0')).join(' ');
}
