import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, type OpenCheckpointOptions, openCheckpoint } from '@hearth/checkpoint';
import { InvalidArgumentError } from '@hearth/core';
import type { Goldens } from './goldens.ts';

/**
 * Opens the model of a fixture that brings its weights. Fixtures that share weights differ in their configuration, which then
 * takes the place of the one beside the weights.
 *
 * @throws InvalidArgumentError when the weights are not part of the fixture
 */
export async function openGoldenModel(goldens: Goldens, options: OpenCheckpointOptions = {}): Promise<Checkpoint> {
  const { id, directory, configFile } = goldens.manifest.model;
  if (directory === null) {
    throw new InvalidArgumentError(`The goldens of ${id} come without its weights. Open the model itself.`, {
      details: { id, directory: goldens.directory },
    });
  }
  const checkpoint = await openCheckpoint(join(goldens.directory, directory), options);
  if (configFile === null) return checkpoint;
  const config = JSON.parse(await readFile(join(goldens.directory, configFile), 'utf8'));
  return { ...checkpoint, config };
}
