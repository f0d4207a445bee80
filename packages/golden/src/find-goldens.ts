import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Checkpoint, readTensor } from '@hearth/checkpoint';
import { type Goldens, openGoldens } from './goldens.ts';

/** Keys of config.json that must agree before any weight is looked at. */
const shapeKeys = [
  'vocab_size',
  'hidden_size',
  'intermediate_size',
  'num_hidden_layers',
  'num_attention_heads',
  'num_key_value_heads',
] as const;

/** Rounding to bf16 moves a value by at most 2^-9 of itself; twice that still tells trained models apart. */
const relativeTolerance = 2 ** -8;

/** The goldens that come with this package. */
export async function bundledGoldens(): Promise<Goldens[]> {
  const directory = fileURLToPath(new URL('../fixtures/', import.meta.url));
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(names.sort().map((name) => openGoldens(join(directory, name))));
}

/**
 * The goldens of a model among those given, whatever its file is called: the sizes agree, and so does the weight of its final
 * norm, up to a rounding to bf16. Null when there are none.
 */
export async function findGoldens(checkpoint: Checkpoint, among?: readonly Goldens[]): Promise<Goldens | null> {
  const norm = checkpoint.tensors.get('model.norm.weight');
  if (!norm) return null;
  for (const goldens of among ?? (await bundledGoldens())) {
    const { config } = goldens.manifest.model;
    if (shapeKeys.some((key) => checkpoint.config[key] !== config[key])) continue;
    const [found, expected] = await Promise.all([readTensor(norm), goldens.tensor('rms_norm/weight')]);
    if (isNear(found, expected)) return goldens;
  }
  return null;
}

function isNear(found: Float32Array, expected: Float32Array): boolean {
  if (found.length !== expected.length) return false;
  return expected.every((value, i) => Math.abs(found[i]! - value) <= relativeTolerance * Math.abs(value));
}
