import type { BackendInfo, CacheDtype, CacheLayerSpec, WeightDtype } from '@hearth/core';

/** What is known of a model from its headers, before weights are loaded. */
export interface ModelHeader {
  /** A name for people. */
  readonly name: string;
  /** The file or directory, absolute. */
  readonly path: string;
  readonly format: 'gguf' | 'safetensors';
  /** `LlamaForCausalLM` */
  readonly architecture: string;
  /** Elements of all weights that are read; a tied head counts once. */
  readonly numParameters: number;
  readonly numLayers: number;
  readonly hiddenSize: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Rows of logits. The tokenizer may have fewer tokens: rows past them have no text. */
  readonly vocabSize: number;
  /** Positions that the model was made for. */
  readonly maxContextLength: number;
  /** Positions that a session may have. */
  readonly contextLength: number;
  /** By type that they are computed with: how many of the weights, and their bytes in a file. */
  readonly weightDtypes: Readonly<Partial<Record<WeightDtype, { readonly tensors: number; readonly bytes: number }>>>;
  /** Bytes of the weight files. */
  readonly fileBytes: number;
}

/** A loaded model. */
export interface ModelInfo extends ModelHeader {
  /** SHA-256 that tells this model, under this numerics version and with this type of cache, from others. */
  readonly fingerprint: string;
  readonly numericsVersion: number;
  /** Bytes that the packed weights take in memory. */
  readonly packedBytes: number;
  /** Bytes of the tensors that they were packed from. */
  readonly sourceBytes: number;
  /** Whether they were packed before and came from the packed cache. */
  readonly weightsFromCache: boolean;
  readonly cacheDtype: CacheDtype;
  /** Bytes of keys and values of one position, over all layers. */
  readonly kvBytesPerToken: number;
  /** Bytes of the whole cache. */
  readonly kvBytes: number;
  /** Positions that the cache holds, over all sessions. */
  readonly cacheTokens: number;
  readonly backend: BackendInfo;
}

/** Bytes of the keys, or the values, of one position and KV head. */
const cacheVectorBytes: Readonly<Record<CacheDtype, (headDim: number) => number>> = {
  f32: (headDim) => 4 * headDim,
  f16: (headDim) => 2 * headDim,
  q8: (headDim) => headDim + 4,
};

/** Bytes of keys and values of one position, over all layers. */
export function kvBytesPerToken(layers: readonly CacheLayerSpec[], dtype: CacheDtype): number {
  return layers.reduce((sum, layer) => sum + 2 * layer.numKvHeads * cacheVectorBytes[dtype](layer.headDim), 0);
}
