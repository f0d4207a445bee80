import { basename } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import type { GgufMetadataToWrite } from './metadata-encoder.ts';
import { partName } from './split-files.ts';
import { byteLengthOf } from './stored-tensors.ts';

interface Contents {
  readonly metadata: GgufMetadataToWrite;
  readonly tensors: readonly TensorToWrite[];
}

/**
 * The files of a model: one, or as many as it takes so that none has more than `maxShardBytes` of tensors. The first has the
 * metadata; all say which part they are.
 */
export function partsOf(
  path: string,
  { metadata, tensors }: Contents,
  { maxShardBytes = Number.POSITIVE_INFINITY }: { readonly maxShardBytes?: number },
): (Contents & { readonly name: string })[] {
  if (!(maxShardBytes > 0)) throw new InvalidArgumentError(`maxShardBytes must be above 0, got ${maxShardBytes}.`);
  const shards: TensorToWrite[][] = [[]];
  let shardBytes = 0;
  for (const tensor of tensors) {
    const byteLength = byteLengthOf(tensor);
    if (shardBytes > 0 && shardBytes + byteLength > maxShardBytes) {
      shards.push([]);
      shardBytes = 0;
    }
    shards.at(-1)!.push(tensor);
    shardBytes += byteLength;
  }
  if (shards.length === 1) return [{ name: basename(path), metadata, tensors }];
  return shards.map((shard, i) => ({
    name: partName(basename(path, '.gguf'), i + 1, shards.length),
    metadata: new Map([
      ...(i === 0 ? metadata : []),
      ['split.no', { type: 'u16', value: i }],
      ['split.count', { type: 'u16', value: shards.length }],
      ['split.tensors.count', { type: 'i32', value: tensors.length }],
    ]),
    tensors: shard,
  }));
}
