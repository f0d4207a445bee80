import { createHash } from 'node:crypto';
import type { Checkpoint } from '@hearth/checkpoint';
import { numericsVersion, throwIfAborted } from '@hearth/core';

/** Bytes that are looked at in each tensor. Two trainings of a model differ in nearly every weight. */
const sampleBytes = 1024;

/**
 * A name for what a model computes: SHA-256 over the numerics version, the headers and configuration, and a sample from
 * the middle of every tensor. Saved sessions carry it. Reads about a kilobyte a tensor, not the file; it tells models
 * apart, it does not prove that a file is undamaged.
 */
export async function modelFingerprint(checkpoint: Checkpoint, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256').update(`hearth numerics ${numericsVersion}\n${checkpoint.headerHash}\n`);
  for (const name of [...checkpoint.tensors.keys()].sort()) {
    throwIfAborted(signal);
    const { file, offset, byteLength } = checkpoint.tensors.get(name)!;
    const length = Math.min(sampleBytes, byteLength);
    hash.update(`${name}\n`).update(await file.read(offset + Math.floor((byteLength - length) / 2), length));
  }
  return hash.digest('hex');
}
