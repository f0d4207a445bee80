import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { type PackedCache, packedLayoutVersion } from '@hearth/core';
import type { CheckedWeight } from '../check-sources.ts';
import { packedFileFormat } from './header.ts';
import { type PackedLayout, packedLayout } from './layout.ts';
import { sha256 } from './sha256.ts';

/** The file that packed weights are kept in, whether it is there or not. */
export interface PackedFile {
  readonly weights: readonly CheckedWeight[];
  readonly cache: PackedCache;
  readonly layout: PackedLayout;
  readonly path: string;
  /** What a file there must say to hold these weights. */
  readonly key: string;
}

/**
 * The file of these weights; undefined when they are too small to be kept. Its name follows from the model's path and from
 * what is made of it, so that a changed model takes the place of its former self. The key also holds what tells versions of
 * the model apart. Kernel variants share one layout and one file.
 */
export function packedFile(weights: readonly CheckedWeight[], cache: PackedCache): PackedFile | undefined {
  const layout = packedLayout(weights);
  if (layout.packedBytes < cache.minBytes) return undefined;
  const recipe = recipeHash(weights);
  const name = sha256(JSON.stringify([cache.source, recipe])).slice(0, 24);
  const readable = basename(cache.source)
    .replace(/[^\w.-]/g, '_')
    .slice(0, 60);
  const path = join(cache.directory, `${readable}-${name}.packed`);
  const key = sha256(JSON.stringify([packedFileFormat, packedLayoutVersion, cache.identity, recipe]));
  return { weights, cache, layout, path, key };
}

/** Of everything that says how the weights are made from their sources: specs, types, orders. */
function recipeHash(weights: readonly CheckedWeight[]): string {
  const hash = createHash('sha256');
  for (const { spec, source } of weights) {
    const { name, role, shape, transposed = false, plus = 0 } = spec;
    const { dtype, rowOrder, columnOrder } = source;
    const lengths = [rowOrder?.length ?? 0, columnOrder?.length ?? 0];
    hash.update(`${JSON.stringify([name, role, shape, transposed, plus, dtype, lengths])}\n`);
    for (const order of [rowOrder, columnOrder]) {
      if (order) hash.update(new Uint8Array(order.buffer, order.byteOffset, order.byteLength));
    }
  }
  return hash.digest('hex');
}
