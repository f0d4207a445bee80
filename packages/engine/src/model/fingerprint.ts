import { createHash } from 'node:crypto';
import type { Checkpoint } from '@hearth/checkpoint';
import {
  type CacheDtype,
  DerivedFile,
  type FileRange,
  numericsVersion,
  type RopeSpec,
  throwIfAborted,
} from '@hearth/core';
import type { Recodings } from './recodings.ts';

/** Bytes that are looked at in each tensor. Two trainings of a model differ in nearly every weight. */
const sampleBytes = 1024;

/** What a model computes besides what its files say. */
export interface FingerprintOptions {
  readonly recodings: Recodings;
  readonly ropes: readonly RopeSpec[];
  readonly cacheDtype: CacheDtype;
}

/**
 * A name for what a model computes: SHA-256 over the numerics version, the headers and configuration, a sample from the
 * middle of every tensor, the types that weights are put into on load, the rotary frequencies, which for some models follow
 * from the configured context length, and the type of the cache. Saved sessions carry it. Reads about a kilobyte a tensor, not
 * the file; it tells models apart, it does not prove that a file is undamaged.
 */
export async function modelFingerprint(
  checkpoint: Checkpoint,
  { recodings, ropes, cacheDtype }: FingerprintOptions,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256').update(`hearth numerics ${numericsVersion}\n${checkpoint.headerHash}\n`);
  for (const name of [...checkpoint.tensors.keys()].sort()) {
    throwIfAborted(signal);
    const { file, offset, byteLength } = storedRange(checkpoint.tensors.get(name)!);
    const length = Math.min(sampleBytes, byteLength);
    hash.update(`${name}\n`).update(await file.read(offset + Math.floor((byteLength - length) / 2), length));
  }
  for (const name of [...recodings.keys()].sort()) hash.update(`${name} as ${recodings.get(name)}\n`);
  for (const { invFreq, attentionScaling } of ropes) {
    hash
      .update(`rope ${attentionScaling}\n`)
      .update(new Uint8Array(invFreq.buffer, invFreq.byteOffset, invFreq.byteLength));
  }
  return hash.update(`cache ${cacheDtype}\n`).digest('hex');
}

/** What lies on disk of a tensor: repacking a matrix for the sake of a kilobyte would cost as much as loading it. */
function storedRange(range: FileRange): FileRange {
  return (range.file instanceof DerivedFile && range.file.origin) || range;
}
