import { readFileSync } from 'node:fs';
import { buildModel } from '../build-model.ts';

export interface SavedModel {
  /** config.json as Transformers writes it. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Shapes of the tensors in its checkpoint, by name. */
  readonly tensors: Readonly<Record<string, readonly number[]>>;
}

/** Tiny models of all families, made by `make-state-dicts.py`. */
const savedModels: Record<string, SavedModel> = JSON.parse(
  readFileSync(new URL('./state-dicts.json', import.meta.url), 'utf8'),
);

export function savedModel(name: string): SavedModel {
  return savedModels[name]!;
}

/** The config with some keys changed; undefined takes a key out. */
export function changed(config: Readonly<Record<string, unknown>>, change: Record<string, unknown>) {
  return Object.fromEntries(Object.entries({ ...config, ...change }).filter(([, value]) => value !== undefined));
}

/** Names and shapes of the tensors that the model of a config asks its checkpoint for. */
export async function wantedTensors(config: unknown): Promise<Record<string, readonly number[]>> {
  const { weights } = await buildModel(config);
  return Object.fromEntries(
    weights.map(({ name, shape, transposed }) => [name, transposed ? shape.toReversed() : shape]),
  );
}

/** Names of the values that belong to one layer, in order, without the prefix of the layer. */
export async function layerBoundaries(config: unknown, prefix = 'model.layers.0'): Promise<string[]> {
  const { graph } = await buildModel(config);
  const inside = graph.values.filter(({ name }) => name === prefix || name.startsWith(`${prefix}.`));
  return inside.map(({ name }) => name.slice(prefix.length + 1));
}
