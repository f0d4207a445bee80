import { InvalidModelError } from '@hearth/core';
import { readJsonObject } from '../io/read-json.ts';

export const indexFileName = 'model.safetensors.index.json';

/** 50,000 tensors take some 5 MB. */
const maxIndexBytes = 32 * 2 ** 20;
const maxShards = 4096;

/** Which shard holds which tensor. */
export interface ShardIndex {
  readonly path: string;
  /** Tensor names by shard file name, shards in ascending order. */
  readonly shards: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Reads model.safetensors.index.json; undefined when there is none. `metadata.total_size` is not used: converters write
 * different things there, and the shards say what they hold.
 * @throws InvalidModelError when it is damaged, or names a shard that is not a plain file name beside it
 */
export async function readShardIndex(path: string): Promise<ShardIndex | undefined> {
  const index = await readJsonObject(path, maxIndexBytes);
  if (index === undefined) return undefined;
  const fail = (problem: string): never => {
    throw new InvalidModelError(`${path}: ${problem}.`, { details: { path } });
  };
  const weightMap = index.weight_map;
  if (typeof weightMap !== 'object' || weightMap === null || Array.isArray(weightMap)) {
    return fail('"weight_map" must be an object of tensor names and shard file names');
  }
  const shards = new Map<string, Set<string>>();
  for (const [tensor, shard] of Object.entries(weightMap)) {
    if (typeof shard !== 'string') return fail(`tensor "${tensor.slice(0, 200)}" has no shard file name`);
    let names = shards.get(shard);
    if (names === undefined) {
      if (!isPlainFileName(shard)) {
        return fail(
          `tensor "${tensor.slice(0, 200)}" is in shard "${shard.slice(0, 200)}", which is not a plain file name. Shards lie beside their index`,
        );
      }
      if (shards.size === maxShards) return fail(`it names more than ${maxShards} shards`);
      names = new Set();
      shards.set(shard, names);
    }
    names.add(tensor);
  }
  if (shards.size === 0) return fail('"weight_map" is empty');
  return { path, shards: new Map([...shards].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** No separators of any platform, no drive letters or streams (`C:x`), no parent directory, no control characters. */
function isPlainFileName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  return name !== '' && name !== '.' && name !== '..' && name.length <= 255 && !/[/\\:\u0000-\u001f]/.test(name);
}
