import type { WeightSpec } from '../backend/weights.ts';

/**
 * A model lowered to a flat list of ops over an arena of f32 buffers. Plain data: a backend compiles it once and then runs
 * the whole list in one call per step.
 *
 * A step has T tokens (of one or many sequences) and R output rows. Buffers of `tokens` have T rows, buffers of `outputs`
 * have R rows. Each kind has an arena of its own; a buffer is a tight row-major [rows, width] at
 * `offset · capacity` floats from its arena's start, where capacity is the largest T (or R) that the executable was
 * compiled for. Buffers whose lives do not overlap share columns of the arena.
 */
export interface Program {
  readonly name: string;
  readonly hiddenSize: number;
  readonly vocabSize: number;
  /** Positions that the model can address; `positions` of a batch are below it. */
  readonly contextLength: number;
  readonly weights: readonly WeightSpec[];
  readonly buffers: readonly BufferSpec[];
  /** Width of the two arenas in floats per row. */
  readonly arenaWidth: Readonly<Record<RowKind, number>>;
  readonly ropes: readonly RopeSpec[];
  readonly cacheGroups: readonly CacheGroupSpec[];
  readonly cacheLayers: readonly CacheLayerSpec[];
  readonly ops: readonly Op[];
  /** Final hidden rows (after the last norm), [outputs, hiddenSize]. */
  readonly hidden: View;
  /** [outputs, vocabSize] */
  readonly logits: View;
  /** Names of the boundaries that `capture` ops copy out, by their `capture` index. */
  readonly captures: readonly CaptureSpec[];
}

export type RowKind = 'tokens' | 'outputs';

export interface BufferSpec {
  readonly rows: RowKind;
  /** Floats per row. */
  readonly width: number;
  /** In floats per row of its arena; a multiple of 16, so that buffers start on cache lines. */
  readonly offset: number;
}

/** Columns [column, column + width) of a buffer. */
export interface View {
  /** Index into `Program.buffers`. */
  readonly buffer: number;
  readonly column: number;
  readonly width: number;
}

export interface CaptureSpec {
  readonly name: string;
  readonly rows: RowKind;
  readonly width: number;
}

/** Rotary position embedding (Su et al. 2021), the frequencies computed at build time. */
export interface RopeSpec {
  /** f32, [rotaryDim / 2], as Transformers computes them. */
  readonly invFreq: Float32Array;
  /** Leading dimensions of a head that rotate; even, at most headDim. */
  readonly rotaryDim: number;
  /** Multiplies cos and sin (YaRN, longrope); 1 otherwise. */
  readonly attentionScaling: number;
}

/** Layers whose block tables are the same. Windowed and global layers are groups of their own. */
export interface CacheGroupSpec {
  /** Only the last `window` positions are visible; null when all are. */
  readonly window: number | null;
}

export interface CacheLayerSpec {
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Index into `Program.cacheGroups`, and into `Batch.blockTables`. */
  readonly group: number;
}

interface OpBase {
  /** The boundary it produces, in checkpoint terms: `model.layers.0.self_attn.q_proj`. Used by errors, profiles and captures. */
  readonly name: string;
}

/** Index into `Program.weights`. */
export type WeightId = number;

/**
 * out[t] = row ids[t] of the table, dequantized to f32, times `scale`. weight: matrix [vocabSize, hidden], or
 * [at least contextLength, hidden] for learned positions.
 */
export interface EmbedOp extends OpBase {
  readonly kind: 'embed';
  readonly weight: WeightId;
  /** The step's token ids, or their positions. */
  readonly ids: 'tokens' | 'positions';
  /** Gemma multiplies its embeddings by sqrt(hiddenSize); 1 otherwise. */
  readonly scale: number;
  readonly out: View;
}

/** cos and sin of the step's positions: out[t] = [cos of each pair, sin of each pair], width rotaryDim. */
export interface RopeTableOp extends OpBase {
  readonly kind: 'rope-table';
  /** Index into `Program.ropes`. */
  readonly rope: number;
  readonly out: View;
}

/**
 * out = x / rms(x) · weight (Zhang and Sennrich 2019). weight: vector [groupWidth]; x.width is a multiple of it, and each
 * group of so many columns (a head) is normalised by itself.
 */
export interface RmsNormOp extends OpBase {
  readonly kind: 'rms-norm';
  readonly x: View;
  readonly weight: WeightId;
  readonly eps: number;
  readonly out: View;
}

/** out = (x − mean(x)) / sqrt(var(x) + eps) · weight + bias (Ba et al. 2016). weight, bias: vectors [width] */
export interface LayerNormOp extends OpBase {
  readonly kind: 'layer-norm';
  readonly x: View;
  readonly weight: WeightId;
  readonly bias: WeightId;
  readonly eps: number;
  readonly out: View;
}

/** residual += delta, in place; then out = rmsNorm(residual). Equals `add` followed by `rms-norm`. */
export interface AddRmsNormOp extends OpBase {
  readonly kind: 'add-rms-norm';
  readonly residual: View;
  readonly delta: View;
  readonly weight: WeightId;
  readonly eps: number;
  readonly out: View;
  /** The boundary of the sum, before the norm. */
  readonly sumName: string;
}

/** residual += delta, in place. */
export interface AddOp extends OpBase {
  readonly kind: 'add';
  readonly residual: View;
  readonly delta: View;
}

/**
 * out = x · Wᵀ (+ bias) for one or several matrices [rows_i, x.width] that share x; their outputs lie side by side in
 * `out`, in order. Each matrix keeps its own dtype; quantized ones share one quantization of x.
 */
export interface LinearOp extends OpBase {
  readonly kind: 'linear';
  readonly x: View;
  readonly weights: readonly WeightId[];
  /** As many as weights; vectors [rows_i]. */
  readonly biases: readonly (WeightId | null)[];
  readonly out: View;
}

/** Rotates each head of x in place, pairs (i, i + rotaryDim / 2). table: the output of a `rope-table`. */
export interface RopeOp extends OpBase {
  readonly kind: 'rope';
  readonly x: View;
  readonly table: View;
  readonly headDim: number;
  readonly rotaryDim: number;
}

/** Appends k and v, [tokens, numKvHeads · headDim], rounded to the cache type, at the step's positions. */
export interface WriteCacheOp extends OpBase {
  readonly kind: 'write-cache';
  /** Index into `Program.cacheLayers`. */
  readonly layer: number;
  readonly k: View;
  readonly v: View;
}

/** Causal grouped-query attention over the cache. q, out: [tokens, numHeads · headDim] */
export interface AttentionOp extends OpBase {
  readonly kind: 'attention';
  readonly layer: number;
  readonly q: View;
  readonly out: View;
  readonly numHeads: number;
  readonly scale: number;
  readonly window: number | null;
  readonly softcap: number | null;
}

/** `gelu-tanh` is the tanh form of GELU (Hendrycks and Gimpel 2016), which GPT-2 and Gemma use. */
export type Activation = 'silu' | 'gelu-tanh';

/** out = activation(x). `out` may be `x`. */
export interface ActivationOp extends OpBase {
  readonly kind: 'activation';
  readonly activation: Activation;
  readonly x: View;
  readonly out: View;
}

/** out = activation(gate) · up. `out` may be `gate`. */
export interface GatedActivationOp extends OpBase {
  readonly kind: 'gated-activation';
  readonly activation: Activation;
  readonly gate: View;
  readonly up: View;
  readonly out: View;
}

/** x = cap · tanh(x / cap), in place (Gemma 2). */
export interface SoftcapOp extends OpBase {
  readonly kind: 'softcap';
  readonly x: View;
  readonly cap: number;
}

/**
 * A mixture of gated MLPs (Shazeer et al. 2017): each row of x goes to the `numExpertsPerToken` experts of its largest
 * router logits (the lower id wins a tie), weighted by their softmax over all experts.
 *
 * out = Σ over the chosen experts, in ascending id: weight_e · down_e(activation(gate_e(x)) · up_e(x))
 */
export interface MoeMlpOp extends OpBase {
  readonly kind: 'moe-mlp';
  /** [rows, hidden] */
  readonly x: View;
  /** [rows, numExperts], before the softmax. */
  readonly routerLogits: View;
  /** One matrix per expert: gate and up [expertWidth, hidden], down [hidden, expertWidth]. */
  readonly gates: readonly WeightId[];
  readonly ups: readonly WeightId[];
  readonly downs: readonly WeightId[];
  readonly numExpertsPerToken: number;
  /** Whether the chosen weights are divided by their sum. */
  readonly normalizeWeights: boolean;
  readonly activation: Activation;
  readonly out: View;
}

/** out[r] = x[outputRows[r]]: from `tokens` rows to `outputs` rows. */
export interface GatherRowsOp extends OpBase {
  readonly kind: 'gather-rows';
  readonly x: View;
  readonly out: View;
}

/** Copies x out of the step, for goldens and debugging. Production programs have none. */
export interface CaptureOp extends OpBase {
  readonly kind: 'capture';
  readonly x: View;
  /** Index into `Program.captures`. */
  readonly capture: number;
}

export type Op =
  | EmbedOp
  | RopeTableOp
  | RmsNormOp
  | LayerNormOp
  | AddRmsNormOp
  | AddOp
  | LinearOp
  | RopeOp
  | WriteCacheOp
  | AttentionOp
  | ActivationOp
  | GatedActivationOp
  | SoftcapOp
  | MoeMlpOp
  | GatherRowsOp
  | CaptureOp;
