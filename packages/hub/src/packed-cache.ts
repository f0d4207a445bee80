import path from 'node:path';
import { InvalidArgumentError, type PackedCacheOptions } from '@hearth/core';
import { surroundingsOf } from './cache-directory.ts';
import { cacheDirectoryOf, type HubOptions } from './settings.ts';

/** Four models of 8 billion parameters in 4 bits. A disk is never filled by more than half of what is free. */
const defaultGigabytes = 20;

/** Packing less takes a few hundredths of a second. 32 MiB. */
const minBytes = 32 * 2 ** 20;

/**
 * Where packed weights are kept for the next start, beside the models: `packed` in the cache directory. Undefined when
 * `HEARTH_PACKED_CACHE` is `0` or `off`; another number is the most gigabytes that all of them may take (20 by default).
 *
 * @throws InvalidArgumentError when the variable is something else
 */
export function packedCacheOptions(
  options: Pick<HubOptions, 'cacheDirectory' | 'env' | 'workingDirectory'> = {},
): PackedCacheOptions | undefined {
  const { env } = surroundingsOf(options.env);
  const wanted = env.HEARTH_PACKED_CACHE?.trim().toLowerCase() || String(defaultGigabytes);
  const gigabytes = wanted === 'off' ? 0 : Number(wanted);
  if (!(gigabytes >= 0 && gigabytes <= 1e6)) {
    throw new InvalidArgumentError(
      `HEARTH_PACKED_CACHE must be off or a number of gigabytes, such as 50, got '${wanted}'.`,
    );
  }
  if (gigabytes === 0) return undefined;
  return { directory: path.join(cacheDirectoryOf(options), 'packed'), maxBytes: gigabytes * 1e9, minBytes };
}
