/** How the frequencies of rotary positions are changed so that a model reaches further than it was trained. */
export type RopeScaling =
  | { readonly type: 'default' }
  | LinearScaling
  | DynamicScaling
  | Llama3Scaling
  | YarnScaling
  | LongRopeScaling;

/** Linear position interpolation (Chen et al. 2023): positions are divided by `factor`. */
export interface LinearScaling {
  readonly type: 'linear';
  readonly factor: number;
}

/** Dynamic NTK scaling (Emozilla 2023): the base grows with the context length beyond what the model was trained for. */
export interface DynamicScaling {
  readonly type: 'dynamic';
  readonly factor: number;
  readonly originalMaxPositionEmbeddings: number;
}

/** Llama 3.1: long waves are divided by `factor`, short ones stay, those between are blended. */
export interface Llama3Scaling {
  readonly type: 'llama3';
  readonly factor: number;
  readonly lowFreqFactor: number;
  readonly highFreqFactor: number;
  readonly originalMaxPositionEmbeddings: number;
}

/** YaRN (Peng et al. 2023): a ramp over the dimensions from kept to interpolated, and a temperature on attention. */
export interface YarnScaling {
  readonly type: 'yarn';
  readonly factor: number;
  readonly originalMaxPositionEmbeddings: number;
  /** Rotations over the original context: above `betaFast` a dimension is kept, below `betaSlow` it is interpolated. */
  readonly betaFast: number;
  readonly betaSlow: number;
  /** Whether the ends of the ramp are whole dimensions. */
  readonly truncate: boolean;
  /** Multiplies cos and sin. */
  readonly attentionFactor: number;
}

/** LongRoPE (Ding et al. 2024): a divisor per frequency, one list within the original context and one beyond it. */
export interface LongRopeScaling {
  readonly type: 'longrope';
  readonly shortFactor: readonly number[];
  readonly longFactor: readonly number[];
  /** Extended by original context length. */
  readonly factor: number;
  readonly originalMaxPositionEmbeddings: number;
  /** Multiplies cos and sin. */
  readonly attentionFactor: number;
}
