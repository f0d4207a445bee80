import { extname } from 'node:path';
import { InvalidArgumentError, isQuantizedDtype, type WeightDtype, type WeightSpec } from '@hearth/core';
import type { GgufMetadataToWrite } from '../gguf/metadata-encoder.ts';
import { writeGguf } from '../gguf/write-gguf.ts';
import { type HuggingFaceModel, writeHuggingFaceDirectory } from '../hugging-face/write-directory.ts';
import { isEmbeddingTable, isKeptFloat } from '../quantize/quantize-plan.ts';
import { encodeElements } from '../tensor/encode.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import {
  syntheticTokenIds,
  syntheticTokenizerConfig,
  syntheticTokenizerJson,
  syntheticTokenizerMetadata,
  syntheticVocabSize,
} from './byte-level-tokenizer.ts';
import { SeededRandom } from './random-weights.ts';
import { hashText, WeightFactory } from './weight-factory.ts';

export interface SyntheticModelOptions {
  /** config.json. Token ids that it does not have are those of the synthetic tokenizer. */
  readonly config: Readonly<Record<string, unknown>>;
  /** What a model of this config reads, as `buildModel` of @hearth/models says. */
  readonly weights: readonly WeightSpec[];
  /**
   * Type of the matrices; vectors, and matrices that are never quantized (routers, learned positions), are f32. Or the type
   * of each matrix by its name, as `plannedDtypes` gives it.
   */
  readonly dtype: WeightDtype | ReadonlyMap<string, WeightDtype>;
  /** Type of the embedding table and the head where `dtype` is one for all: the same by default. */
  readonly embeddingDtype?: WeightDtype;
  /** The same seed gives the same bytes everywhere. 0 by default. */
  readonly seed?: number;
}

export interface SyntheticModel extends HuggingFaceModel {
  /** The tokenizer for a GGUF file. */
  readonly ggufMetadata: GgufMetadataToWrite;
}

const residualWriters = /\.(o_proj|down_proj|c_proj)\.weight$/;

/**
 * A model of any family with random weights, under Hugging Face names, for tests and benchmarks. Activations keep a sane size:
 * matrices have the standard deviation 1 / √columns, those that write into the residual stream are divided by √(2 · layers) on
 * top, norms are near 1 and biases near 0.
 */
export function syntheticModel(options: SyntheticModelOptions): SyntheticModel {
  const { config, weights, seed = 0 } = options;
  const vocabSize = config.vocab_size;
  if (typeof vocabSize !== 'number' || vocabSize < syntheticVocabSize) {
    throw new InvalidArgumentError(`vocab_size must be at least ${syntheticVocabSize}, got ${vocabSize}.`);
  }
  const numLayers = Number(config.num_hidden_layers ?? config.n_layer ?? 1);
  const factory = new WeightFactory(seed);
  return {
    config: {
      bos_token_id: syntheticTokenIds.bos,
      eos_token_id: syntheticTokenIds.eos,
      pad_token_id: syntheticTokenIds.pad,
      ...config,
    },
    tensors: weights.map((spec) =>
      spec.role === 'vector' ? vector(spec, factory, seed) : matrix(spec, factory, dtypeOf(spec, options), numLayers),
    ),
    tokenizerJson: syntheticTokenizerJson(),
    tokenizerConfig: syntheticTokenizerConfig,
    generationConfig: { bos_token_id: syntheticTokenIds.bos, eos_token_id: syntheticTokenIds.eos },
    ggufMetadata: syntheticTokenizerMetadata(vocabSize),
  };
}

/**
 * Writes a synthetic model: a GGUF file when `path` ends in `.gguf`, else a Hugging Face directory (f32, f16 and bf16 only).
 * The same seed and a plain type give the same values in both.
 */
export async function writeSynthetic(
  path: string,
  { signal, ...options }: SyntheticModelOptions & { readonly signal?: AbortSignal },
): Promise<void> {
  const { ggufMetadata, ...model } = syntheticModel(options);
  const writeOptions = signal ? { signal } : {};
  if (extname(path).toLowerCase() === '.gguf') {
    const { config, tensors } = model;
    await writeGguf(path, { config, tensors, name: 'synthetic', metadata: ggufMetadata }, writeOptions);
    return;
  }
  for (const spec of options.weights) {
    const dtype = spec.role === 'vector' ? 'f32' : dtypeOf(spec, options);
    if (isQuantizedDtype(dtype)) {
      throw new InvalidArgumentError(`A Hugging Face directory cannot hold ${dtype}; let the path end in .gguf.`);
    }
  }
  await writeHuggingFaceDirectory(path, model, writeOptions);
}

function dtypeOf(spec: WeightSpec, { dtype, embeddingDtype }: SyntheticModelOptions): WeightDtype {
  if (typeof dtype === 'string') {
    if (isEmbeddingTable(spec.name)) return embeddingDtype ?? dtype;
    return isKeptFloat(spec) && isQuantizedDtype(dtype) ? 'f32' : dtype;
  }
  const own = dtype.get(spec.name);
  if (own === undefined) throw new InvalidArgumentError(`No type was given for the matrix "${spec.name}".`);
  return own;
}

function matrix(spec: WeightSpec, factory: WeightFactory, dtype: WeightDtype, numLayers: number): TensorToWrite {
  const [rows, columns] = spec.shape as [number, number];
  const gain = residualWriters.test(spec.name) ? 1 / Math.sqrt(2 * numLayers) : 1;
  const tensor = factory.matrix(spec.name, dtype, rows, columns, gain / Math.sqrt(columns));
  if (!spec.transposed) return tensor;
  // Blocks lie along the rows that the model reads, which only GGUF keeps as rows.
  const turned = { ...tensor, shape: [columns, rows] };
  return isQuantizedDtype(dtype) ? { ...turned, transposed: true } : turned;
}

function vector({ name, shape, plus = 0 }: WeightSpec, factory: WeightFactory, seed: number): TensorToWrite {
  const length = shape[0]!;
  const isNorm = name.endsWith('.weight');
  if (plus === 0) return factory.vector(name, length, isNorm ? 1 : 0, 0.1);
  // In steps that survive having `plus` added and taken off in f32, so that both forms of a model hold the same weights.
  const random = new SeededRandom(hashText(name, seed));
  const step = 2 ** -12;
  const values = () =>
    Float32Array.from({ length }, () => 1 - plus + step * Math.round((0.1 / step) * random.uniform()));
  return { name, dtype: 'f32', shape, data: () => encodeElements('f32', values()) };
}
