import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plannedDtypes, type StorageDtype, writeSynthetic } from '@hearth/checkpoint';
import { type WeightSpec, weightByteLength } from '@hearth/core';
import { buildModel } from '@hearth/models';
import { type FormatName, formatNames, formats } from './formats.ts';
import { type ShapeConfig, type ShapeName, shapeNames, shapes } from './shapes.ts';

const directory = fileURLToPath(new URL('../../.cache/benchmark-models/', import.meta.url));

/** A random-weight model: what it is made of, and where its file is or will be. */
export interface SyntheticFile {
  readonly shape: ShapeName;
  readonly format: FormatName;
  readonly path: string;
  readonly config: ShapeConfig;
  readonly weights: readonly WeightSpec[];
  readonly dtypes: ReadonlyMap<string, StorageDtype>;
  /** Of all weights; the file adds a header of at most some megabytes. */
  readonly byteLength: number;
}

/** @throws Error that lists the names there are */
export async function syntheticFile(shape: string, format: string): Promise<SyntheticFile> {
  const [shapeName, formatName] = [known(shape, shapeNames, 'shape'), known(format, formatNames, 'format')];
  const config: ShapeConfig = shapes[shapeName];
  const { weights } = await buildModel(config);
  const plan = formats[formatName]({
    numLayers: config.num_hidden_layers,
    isTied: config.tie_word_embeddings === true,
  });
  const dtypes = plannedDtypes(weights, plan);
  const byteLength = weights.reduce((sum, { name, shape: dims }) => {
    const length = dims.reduce((product, dim) => product * dim, 1);
    return sum + weightByteLength(dtypes.get(name)!, length);
  }, 0);
  const path = join(directory, `${shapeName}-${formatName}.gguf`);
  return { shape: shapeName, format: formatName, path, config, weights, dtypes, byteLength };
}

/** Writes the file, aside and renamed, unless it is there. Returns whether it was written. */
export async function ensureWritten({ path, config, weights, dtypes }: SyntheticFile): Promise<boolean> {
  if (existsSync(path)) return false;
  await mkdir(dirname(path), { recursive: true });
  await writeSynthetic(path, { config, weights, dtype: dtypes });
  return true;
}

function known<Name extends string>(name: string, names: readonly Name[], what: string): Name {
  const found = names.find((each) => each === name);
  if (!found) throw new Error(`There is no ${what} ${name}; there are ${names.join(', ')}.`);
  return found;
}
