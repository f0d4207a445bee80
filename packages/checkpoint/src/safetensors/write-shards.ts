import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import { checkTensorNames, type TensorToWrite } from '../tensor/tensor-to-write.ts';
import { indexFileName } from './shard-index.ts';
import { safetensorsByteLength, type WriteSafetensorsOptions, writeSafetensors } from './write-safetensors.ts';

/** As Transformers cuts: small enough for every file system and download. */
const defaultShardBytes = 5_000_000_000;

export interface WriteShardsOptions extends WriteSafetensorsOptions {
  /** Tensor bytes of one shard at most; a larger tensor has a shard of its own. 5 GB by default. */
  readonly maxShardBytes?: number;
}

/**
 * Writes tensors into a directory: `model.safetensors` when they fit one file, else `model-00001-of-0000N.safetensors` and
 * so on with `model.safetensors.index.json`, which is written last. Tensors keep their order.
 * @returns the names of the weight files
 */
export async function writeShardedSafetensors(
  directory: string,
  tensors: readonly TensorToWrite[],
  { maxShardBytes = defaultShardBytes, ...options }: WriteShardsOptions = {},
): Promise<string[]> {
  if (!(maxShardBytes > 0)) {
    throw new InvalidArgumentError(`maxShardBytes must be above 0, got ${maxShardBytes}.`);
  }
  checkTensorNames(tensors);
  const shards = cutIntoShards(tensors, maxShardBytes);
  if (shards.length === 1) {
    await writeSafetensors(join(directory, 'model.safetensors'), tensors, options);
    return ['model.safetensors'];
  }
  const weightMap: [string, string][] = [];
  const names: string[] = [];
  for (const [i, shard] of shards.entries()) {
    const name = `model-${fiveDigits(i + 1)}-of-${fiveDigits(shards.length)}.safetensors`;
    await writeSafetensors(join(directory, name), shard, options);
    names.push(name);
    for (const tensor of shard) weightMap.push([tensor.name, name]);
  }
  const index = {
    metadata: { total_size: tensors.reduce((sum, tensor) => sum + safetensorsByteLength(tensor), 0) },
    weight_map: Object.fromEntries(weightMap),
  };
  await writeFile(join(directory, indexFileName), `${JSON.stringify(index, null, 2)}\n`);
  return names;
}

function cutIntoShards(tensors: readonly TensorToWrite[], maxShardBytes: number): TensorToWrite[][] {
  const shards: TensorToWrite[][] = [[]];
  let shardBytes = 0;
  for (const tensor of tensors) {
    const byteLength = safetensorsByteLength(tensor);
    if (shardBytes > 0 && shardBytes + byteLength > maxShardBytes) {
      shards.push([]);
      shardBytes = 0;
    }
    shards.at(-1)!.push(tensor);
    shardBytes += byteLength;
  }
  return shards;
}

function fiveDigits(value: number): string {
  return String(value).padStart(5, '0');
}
