import { extname } from 'node:path';
import { InvalidArgumentError, isQuantizedDtype, type WeightDtype } from '@hearth/core';
import type { GgufMetadataToWrite } from '../gguf/metadata-encoder.ts';
import { writeGguf } from '../gguf/write-gguf.ts';
import { type HuggingFaceModel, writeHuggingFaceDirectory } from '../hugging-face/write-directory.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import {
  syntheticTokenIds,
  syntheticTokenizerConfig,
  syntheticTokenizerJson,
  syntheticTokenizerMetadata,
  syntheticVocabSize,
} from './byte-level-tokenizer.ts';
import { WeightFactory } from './weight-factory.ts';

export interface LlamaShape {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  /** hiddenSize / numHeads by default. */
  readonly headDim?: number;
  /** At least `syntheticVocabSize`. */
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly ropeTheta?: number;
  readonly tieWordEmbeddings?: boolean;
}

/** 1.1 billion parameters: the shape of TinyLlama. */
export const llama1BShape: LlamaShape = {
  hiddenSize: 2048,
  intermediateSize: 5632,
  numLayers: 22,
  numHeads: 32,
  numKvHeads: 4,
  vocabSize: 32_000,
  contextLength: 2048,
};

export interface SyntheticLlamaOptions {
  readonly shape: LlamaShape;
  /** Type of the matrices. Norm weights are f32. */
  readonly dtype: WeightDtype;
  /** Type of the embedding table and the head: `dtype` by default. */
  readonly embeddingDtype?: WeightDtype;
  /** The same seed gives the same bytes everywhere. 0 by default. */
  readonly seed?: number;
  /** Biases on the q, k, v and o projections. */
  readonly attentionBias?: boolean;
}

export interface SyntheticLlama extends HuggingFaceModel {
  /** The tokenizer for a GGUF file. */
  readonly ggufMetadata: GgufMetadataToWrite;
}

/**
 * A Llama with random weights, under Hugging Face names, for tests and benchmarks of speed. Its text is noise, but its
 * activations keep a sane size at any depth: projections have the standard deviation 1 / √columns, those that write into the
 * residual stream are divided by √(2 · layers) on top.
 */
export function syntheticLlama(options: SyntheticLlamaOptions): SyntheticLlama {
  const { shape, dtype, embeddingDtype = dtype, seed = 0, attentionBias = false } = options;
  const headDim = shape.headDim ?? shape.hiddenSize / shape.numHeads;
  checkShape(shape, headDim);
  const { hiddenSize, intermediateSize, numLayers, vocabSize, tieWordEmbeddings = false } = shape;
  const source = new WeightFactory(seed);
  const queryRows = shape.numHeads * headDim;
  const keyRows = shape.numKvHeads * headDim;
  const residual = 1 / Math.sqrt(2 * numLayers);
  const tensors: TensorToWrite[] = [
    source.matrix('model.embed_tokens.weight', embeddingDtype, vocabSize, hiddenSize, 1 / Math.sqrt(hiddenSize)),
  ];
  for (let layer = 0; layer < numLayers; layer++) {
    const prefix = `model.layers.${layer}`;
    const project = (module: string, rows: number, columns: number, gain = 1) =>
      tensors.push(source.matrix(`${prefix}.${module}.weight`, dtype, rows, columns, gain / Math.sqrt(columns)));
    const bias = (module: string, length: number) => {
      if (attentionBias) tensors.push(source.vector(`${prefix}.${module}.bias`, length, 0, 0.1));
    };
    tensors.push(source.vector(`${prefix}.input_layernorm.weight`, hiddenSize, 1, 0.1));
    project('self_attn.q_proj', queryRows, hiddenSize);
    project('self_attn.k_proj', keyRows, hiddenSize);
    project('self_attn.v_proj', keyRows, hiddenSize);
    project('self_attn.o_proj', hiddenSize, queryRows, residual);
    bias('self_attn.q_proj', queryRows);
    bias('self_attn.k_proj', keyRows);
    bias('self_attn.v_proj', keyRows);
    bias('self_attn.o_proj', hiddenSize);
    tensors.push(source.vector(`${prefix}.post_attention_layernorm.weight`, hiddenSize, 1, 0.1));
    project('mlp.gate_proj', intermediateSize, hiddenSize);
    project('mlp.up_proj', intermediateSize, hiddenSize);
    project('mlp.down_proj', hiddenSize, intermediateSize, residual);
  }
  tensors.push(source.vector('model.norm.weight', hiddenSize, 1, 0.1));
  if (!tieWordEmbeddings) {
    tensors.push(source.matrix('lm_head.weight', embeddingDtype, vocabSize, hiddenSize, 1 / Math.sqrt(hiddenSize)));
  }
  return {
    config: {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: hiddenSize,
      intermediate_size: intermediateSize,
      num_hidden_layers: numLayers,
      num_attention_heads: shape.numHeads,
      num_key_value_heads: shape.numKvHeads,
      head_dim: headDim,
      hidden_act: 'silu',
      rms_norm_eps: 1e-5,
      rope_theta: shape.ropeTheta ?? 10_000,
      rope_scaling: null,
      max_position_embeddings: shape.contextLength,
      vocab_size: vocabSize,
      tie_word_embeddings: tieWordEmbeddings,
      attention_bias: attentionBias,
      mlp_bias: false,
      bos_token_id: syntheticTokenIds.bos,
      eos_token_id: syntheticTokenIds.eos,
      pad_token_id: syntheticTokenIds.pad,
    },
    tensors,
    tokenizerJson: syntheticTokenizerJson(),
    tokenizerConfig: syntheticTokenizerConfig,
    generationConfig: { bos_token_id: syntheticTokenIds.bos, eos_token_id: syntheticTokenIds.eos },
    ggufMetadata: syntheticTokenizerMetadata(vocabSize),
  };
}

/**
 * Writes a synthetic Llama: a GGUF file when `path` ends in `.gguf`, else a Hugging Face directory (f32, f16 and bf16 only).
 * 1.1 billion weights take about as long as the disk does.
 */
export async function writeSyntheticLlama(
  path: string,
  { signal, ...options }: SyntheticLlamaOptions & { readonly signal?: AbortSignal },
): Promise<void> {
  const { ggufMetadata, ...model } = syntheticLlama(options);
  const writeOptions = signal ? { signal } : {};
  if (extname(path).toLowerCase() === '.gguf') {
    const { config, tensors } = model;
    await writeGguf(path, { config, tensors, name: 'synthetic-llama', metadata: ggufMetadata }, writeOptions);
    return;
  }
  for (const dtype of [options.dtype, options.embeddingDtype ?? options.dtype]) {
    if (isQuantizedDtype(dtype)) {
      throw new InvalidArgumentError(`A Hugging Face directory cannot hold ${dtype}; let the path end in .gguf.`);
    }
  }
  await writeHuggingFaceDirectory(path, model, writeOptions);
}

function checkShape(shape: LlamaShape, headDim: number): void {
  const fail = (problem: string): never => {
    throw new InvalidArgumentError(`Invalid Llama shape: ${problem}.`);
  };
  for (const [field, value] of Object.entries(shape)) {
    if (typeof value === 'number' && !(value > 0)) fail(`${field} must be above 0, got ${value}`);
  }
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    fail(`heads must have an even number of dimensions, got ${headDim}`);
  if (shape.numHeads % shape.numKvHeads !== 0) {
    fail(`numHeads ${shape.numHeads} must be a multiple of numKvHeads ${shape.numKvHeads}`);
  }
  if (shape.vocabSize < syntheticVocabSize) {
    fail(`vocabSize must be at least ${syntheticVocabSize}, got ${shape.vocabSize}`);
  }
}
