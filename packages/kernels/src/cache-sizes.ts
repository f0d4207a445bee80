import { readFile } from 'node:fs/promises';

/** Data caches of one core. */
export interface CacheSizes {
  /** Bytes; a size that every processor of the last ten years has where the system does not say. */
  readonly l2Bytes: number;
  /** Null where there is none, or the system does not say. */
  readonly l3: {
    readonly bytes: number;
    /** Processors, as the system counts them, that share it. */
    readonly numSharers: number;
  } | null;
}

const leastL2Bytes = 256 * 1024;

/** The caches of the first processor, as Linux tells them; elsewhere the least there can be. */
export async function cacheSizes(directory = '/sys/devices/system/cpu/cpu0/cache'): Promise<CacheSizes> {
  const [l2, l3] = await Promise.all([readCache(directory, 2), readCache(directory, 3)]);
  return { l2Bytes: l2?.bytes ?? leastL2Bytes, l3 };
}

async function readCache(directory: string, level: number): Promise<CacheSizes['l3']> {
  // Instruction and data caches of level 1, then one entry for each level.
  const read = (name: string) => readFile(`${directory}/index${level}/${name}`, 'utf8');
  try {
    const [foundLevel, size, sharers] = await Promise.all([read('level'), read('size'), read('shared_cpu_list')]);
    const kibibytes = /^(\d+)K$/.exec(size.trim())?.[1];
    if (Number(foundLevel) !== level || !kibibytes) return null;
    return { bytes: Number(kibibytes) * 1024, numSharers: countProcessors(sharers.trim()) };
  } catch {
    return null;
  }
}

/** How many a list such as `0-3,8` names. */
function countProcessors(list: string): number {
  let count = 0;
  for (const range of list.split(',')) {
    const [first, last = first] = range.split('-').map(Number);
    count += last! - first! + 1;
  }
  return Number.isSafeInteger(count) && count >= 1 ? count : 1;
}
