import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { type Checkpoint, readTensor } from '@hearth/checkpoint';
import { type Goldens, openGoldens } from './goldens.ts';
import type { GoldenManifest } from './manifest.ts';

/** Keys of config.json that must agree, where the manifest has them, before any weight is looked at. */
const shapeKeys = [
  'vocab_size',
  'hidden_size',
  'intermediate_size',
  'num_hidden_layers',
  'num_attention_heads',
  'num_key_value_heads',
  'n_embd',
  'n_layer',
  'n_head',
] as const;

/** Keys that tell models over the same weights apart; absent and null are the same. */
const settingKeys = ['rope_scaling', 'sliding_window', 'query_pre_attn_scalar'] as const;

/** Rounding to bf16 moves a value by at most 2^-9 of itself; twice that still tells trained models apart. */
const relativeTolerance = 2 ** -8;

/** The goldens that come with this package. */
export async function bundledGoldens(): Promise<Goldens[]> {
  const directory = fileURLToPath(new URL('../fixtures/', import.meta.url));
  const entries = await readdir(directory, { withFileTypes: true });
  // `real` holds greedy runs without tensors; real-goldens.ts reads them.
  const names = entries.filter((entry) => entry.isDirectory() && entry.name !== 'real').map((entry) => entry.name);
  return Promise.all(names.sort().map((name) => openGoldens(join(directory, name))));
}

/**
 * The goldens of a model among those given, whatever its file is called: the sizes and settings agree, and so does the weight
 * of its final norm, up to a rounding to bf16. Null when there are none.
 */
export async function findGoldens(checkpoint: Checkpoint, among?: readonly Goldens[]): Promise<Goldens | null> {
  for (const goldens of among ?? (await bundledGoldens())) {
    const { config } = goldens.manifest.model;
    if (shapeKeys.some((key) => Object.hasOwn(config, key) && checkpoint.config[key] !== config[key])) continue;
    if (settingKeys.some((key) => !isDeepStrictEqual(checkpoint.config[key] ?? null, config[key] ?? null))) continue;
    const { key, weight } = knownBy(goldens.manifest);
    const norm = checkpoint.tensors.get(weight);
    if (!norm) continue;
    const [found, expected] = await Promise.all([readTensor(norm), goldens.tensor(key)]);
    if (isNear(found, expected)) return goldens;
  }
  return null;
}

/** The golden that holds the weight of the final norm, and the name of that weight in a checkpoint. */
function knownBy({ tensors }: GoldenManifest): { key: string; weight: string } {
  const key = [...tensors.keys()].find((key) => key.startsWith('weights/'));
  return key ? { key, weight: key.slice('weights/'.length) } : { key: 'rms_norm/weight', weight: 'model.norm.weight' };
}

function isNear(found: Float32Array, expected: Float32Array): boolean {
  if (found.length !== expected.length) return false;
  return expected.every((value, i) => Math.abs(found[i]! - value) <= relativeTolerance * Math.abs(value));
}
