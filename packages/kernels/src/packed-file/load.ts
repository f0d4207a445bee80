import { access, utimes } from 'node:fs/promises';
import { AbortError, InvalidModelError, type LoadWeightsOptions, throwIfAborted } from '@hearth/core';
import { dtypeNumbers, type NativeWeights } from '../addon-types.ts';
import type { CheckedWeight } from '../check-sources.ts';
import type { NativeFileMapper, NativeMappedFile } from '../file-mapper.ts';
import type { LoadedWeight, LoadedWeights } from '../load-weights.ts';
import { toHearthError } from '../native-errors.ts';
import { decodeHeader } from './header.ts';
import { type PackedLayout, packedHeaderBytes } from './layout.ts';
import type { PackedFile } from './packed-file.ts';
import { sampleHash } from './sample.ts';

/** Packed bytes that are brought into memory in one native call: progress and abort go in such steps. */
const GROUP_BYTES = 64 * 1024 * 1024;

/**
 * Fills native weights from a packed file. Undefined, with the native weights in some state between, when there is none of
 * these weights; one that is there and no good is a warning. The file is not trusted: its header must have the key of exactly
 * these weights, its size must be what they take, and samples of it must have the hash that they had when it was written.
 *
 * @throws AbortError
 */
export async function loadPackedFile(
  native: NativeWeights,
  { weights, cache, layout, path, key }: PackedFile,
  fileMapper: NativeFileMapper,
  options: LoadWeightsOptions,
): Promise<LoadedWeights | undefined> {
  let file: NativeMappedFile | undefined;
  try {
    if (!(await isThere(path))) return undefined;
    file = await fileMapper.open(path);
    if (!(await isFileOf(file, key, layout))) return undefined;
    if (file.native.isMapped && !(await file.native.isQuick())) {
      // Memory in huge pages is worth a copy. The path may lead to another file by now, so it is looked at again.
      await file.close();
      file = await fileMapper.open(path, 'read');
      if (!(await isFileOf(file, key, layout))) return undefined;
    }
    const loaded = await fill(native, file, weights, layout, options);
    // Marks it as used. A directory that may only be read is fine.
    const now = new Date();
    await utimes(path, now, now).catch(() => {});
    return loaded;
  } catch (error) {
    const reason = toHearthError(error);
    if (reason instanceof AbortError) throw reason;
    const why = (reason instanceof Error ? reason.message : String(reason)).replace(/\.$/, '');
    cache.onWarning?.(`The packed weights in ${path} were not used, because ${why}. The model is packed again.`);
    return undefined;
  } finally {
    await file?.close();
  }
}

/**
 * False when the file belongs to another version of the model or of this program, which is no fault of it.
 * @throws InvalidModelError when it is damaged
 */
async function isFileOf(file: NativeMappedFile, key: string, layout: PackedLayout): Promise<boolean> {
  if (file.size < packedHeaderBytes) throw new InvalidModelError('it is cut short');
  const header = decodeHeader(await file.read(0, packedHeaderBytes));
  if (header.key !== key) return false;
  if (file.size !== layout.fileBytes || header.fileBytes !== layout.fileBytes) {
    throw new InvalidModelError(`it has ${file.size} bytes, where ${layout.fileBytes} are needed`);
  }
  if (header.sample !== (await sampleHash(file.size, (offset, length) => file.read(offset, length)))) {
    throw new InvalidModelError('its weights are damaged');
  }
  return true;
}

async function fill(
  native: NativeWeights,
  file: NativeMappedFile,
  weights: readonly CheckedWeight[],
  { offsets, packedBytes }: PackedLayout,
  { signal, onProgress }: LoadWeightsOptions,
): Promise<LoadedWeights> {
  const byName = new Map<string, LoadedWeight>();
  const vectors = await readVectors(file, weights, offsets);
  for (const [i, { spec, source }] of weights.entries()) {
    const [rows, columns] = spec.shape as [number, number];
    const vector = vectors[i];
    const index = vector
      ? native.addVector(vector)
      : native.addPackedMatrix(dtypeNumbers[source.dtype], rows, columns, source.columnOrder, file.native, offsets[i]!);
    byName.set(spec.name, { spec, index });
  }
  const totalBytes = weights.reduce((sum, { source }) => sum + source.byteLength, 0);
  let doneBytes = weights.slice(0, vectors.length).reduce((sum, { source }) => sum + source.byteLength, 0);
  for (let first = vectors.length; first < weights.length; ) {
    throwIfAborted(signal);
    let end = first;
    do doneBytes += weights[end++]!.source.byteLength;
    while (end < weights.length && offsets[end]! - offsets[first]! < GROUP_BYTES);
    await native.loadPacked(first, end - first);
    onProgress?.({ doneBytes, totalBytes });
    first = end;
  }
  return { byName, packedBytes, sourceBytes: totalBytes };
}

/** The vectors, which come first and lie together, in one read. */
async function readVectors(
  file: NativeMappedFile,
  weights: readonly CheckedWeight[],
  offsets: readonly number[],
): Promise<Float32Array[]> {
  const vectors = weights.filter(({ spec }) => spec.role === 'vector');
  if (vectors.length === 0) return [];
  const start = offsets[0]!;
  const end = offsets[vectors.length - 1]! + vectors.at(-1)!.spec.shape[0]! * 4;
  const bytes = await file.read(start, end - start);
  return vectors.map(
    ({ spec }, i) => new Float32Array(bytes.buffer, bytes.byteOffset + offsets[i]! - start, spec.shape[0]!),
  );
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
