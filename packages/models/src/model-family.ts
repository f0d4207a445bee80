import type { Graph } from '@hearth/graph';

/** What a family module gives for a config: the forward pass, and the facts that the rest of the engine asks for. */
export interface ModelDefinition {
  readonly graph: Graph;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Whether the head is the embedding table. */
  readonly tiedEmbeddings: boolean;
  /** Null when the config names none. */
  readonly bosTokenId: number | null;
  /** Generation ends at any of these. Empty when the config names none. */
  readonly eosTokenIds: readonly number[];
  /** Tensors that a checkpoint may carry beside the weights, and that nothing reads. */
  readonly ignoredTensors: readonly RegExp[];
}

/** What is known beside the config. */
export interface BuildContext {
  /** Whether the checkpoint has a tensor of this name; undefined when its tensors are not known. */
  readonly hasTensor?: ((name: string) => boolean) | undefined;
  /** The configured context length; undefined means `max_position_embeddings`. See `BuildModelOptions`. */
  readonly contextLength?: number | undefined;
}

/** One file per family exports one of these. */
export interface ModelFamily {
  /** `model_type` of its configs. */
  readonly modelType: string;
  /**
   * @param configJson the parsed config.json of the checkpoint
   * @throws InvalidModelError | UnsupportedError that names the key
   */
  build(configJson: unknown, context: BuildContext): ModelDefinition;
}
