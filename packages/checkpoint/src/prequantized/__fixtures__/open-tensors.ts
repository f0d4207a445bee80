import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HearthError } from '@hearth/core';
import { afterAll, expect } from 'vitest';
import type { Checkpoint, CheckpointTensor } from '../../checkpoint.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';
import { writeSafetensors } from '../../safetensors/write-safetensors.ts';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';

/** Writes and opens checkpoints of a few tensors in folders below `root`. */
export function opener(root: string) {
  const folder = async (tensors: readonly TensorToWrite[], config: Readonly<Record<string, unknown>>) => {
    const path = await mkdtemp(join(root, 'model-'));
    await writeFile(join(path, 'config.json'), JSON.stringify(config));
    await writeSafetensors(join(path, 'model.safetensors'), tensors);
    return path;
  };
  const opened: Checkpoint[] = [];
  afterAll(() => Promise.all(opened.map((checkpoint) => checkpoint.close())));
  const open = async (tensors: readonly TensorToWrite[], quantization_config: unknown): Promise<Checkpoint> => {
    const checkpoint = await openCheckpoint(await folder(tensors, { model_type: 'llama', quantization_config }));
    opened.push(checkpoint);
    return checkpoint;
  };
  return {
    folder,
    open,
    /** The tensor of that name, whose checkpoint stays open until the tests end. */
    async tensor(
      tensors: readonly TensorToWrite[],
      quantization_config: unknown,
      name = 'm.weight',
    ): Promise<CheckpointTensor> {
      return (await open(tensors, quantization_config)).tensors.get(name)!;
    },
    /** The error with which opening is refused. */
    async refusal(tensors: readonly TensorToWrite[], quantization_config: unknown): Promise<HearthError> {
      return open(tensors, quantization_config).then(
        () => expect.fail('the checkpoint was opened'),
        (error: unknown) => error as HearthError,
      );
    },
  };
}
