import type { Checkpoint } from '@hearth/checkpoint';
import { numericsVersion, type PackedCache, type PackedCacheOptions } from '@hearth/core';
import type { Recodings } from './recodings.ts';

/**
 * Where the packed weights of a model are kept. Files are told apart by path, size, time of the last change and the hash of
 * their headers, as build tools do; the bytes of the weights are not read. Undefined for a checkpoint that does not come from
 * files with times.
 */
export function packedCacheOf(
  checkpoint: Checkpoint,
  recodings: Recodings,
  options: PackedCacheOptions,
): PackedCache | undefined {
  const files = checkpoint.files.map(({ path, size, modifiedNs }) => [path, size, modifiedNs?.toString()]);
  if (files.some(([, , modified]) => modified === undefined)) return undefined;
  const identity = JSON.stringify([numericsVersion, checkpoint.headerHash, files, [...recodings].sort()]);
  return { ...options, source: checkpoint.path, identity };
}
