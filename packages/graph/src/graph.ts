import type { Activation, CacheGroupSpec, CacheLayerSpec, RopeSpec, RowKind, WeightId, WeightSpec } from '@hearth/core';

/**
 * A model as its definition wrote it: values that are assigned once, and the nodes that make them, in order. Plain data;
 * every pass takes a graph and returns a new one.
 */
export interface Graph {
  readonly name: string;
  readonly hiddenSize: number;
  readonly vocabSize: number;
  /** Positions that the model can address. */
  readonly contextLength: number;
  readonly weights: readonly WeightSpec[];
  readonly values: readonly ValueSpec[];
  readonly ropes: readonly RopeSpec[];
  readonly cacheGroups: readonly CacheGroupSpec[];
  readonly cacheLayers: readonly CacheLayerSpec[];
  readonly nodes: readonly Node[];
  /** Rows after the last norm, [outputs, hiddenSize]. */
  readonly hidden: ValueId;
  /** [outputs, vocabSize] */
  readonly logits: ValueId;
}

/** Index into `Graph.values`. */
export type ValueId = number;

/** A matrix [tokens or outputs, width]. */
export interface ValueSpec {
  /** The boundary it is, in checkpoint terms: `model.layers.0.self_attn.q_proj`. Unique. */
  readonly name: string;
  readonly rows: RowKind;
  readonly width: number;
}

/** out = rows of the table, by token id or by position, times scale */
export interface EmbedNode {
  readonly kind: 'embed';
  readonly weight: WeightId;
  readonly ids: 'tokens' | 'positions';
  readonly scale: number;
  readonly out: ValueId;
}

/** out = cos and sin of the step's positions */
export interface RopeTableNode {
  readonly kind: 'rope-table';
  readonly rope: number;
  readonly out: ValueId;
}

export interface RmsNormNode {
  readonly kind: 'rms-norm';
  readonly x: ValueId;
  readonly weight: WeightId;
  readonly eps: number;
  readonly out: ValueId;
}

export interface LayerNormNode {
  readonly kind: 'layer-norm';
  readonly x: ValueId;
  readonly weight: WeightId;
  readonly bias: WeightId;
  readonly eps: number;
  readonly out: ValueId;
}

/** Several matrices that share one input. A definition writes one part each; `mergeLinears` joins them. */
export interface LinearNode {
  readonly kind: 'linear';
  readonly x: ValueId;
  readonly parts: readonly LinearPart[];
}

export interface LinearPart {
  readonly weight: WeightId;
  readonly bias: WeightId | null;
  readonly out: ValueId;
}

/** The columns of x, one value after the other. Costs no op: they are views of x, which nothing may read afterwards. */
export interface SplitNode {
  readonly kind: 'split';
  readonly x: ValueId;
  readonly outs: readonly ValueId[];
}

/** Overwrites x: nothing may read x afterwards. */
export interface RopeNode {
  readonly kind: 'rope';
  readonly x: ValueId;
  readonly table: ValueId;
  readonly headDim: number;
  readonly rotaryDim: number;
  readonly out: ValueId;
}

/** Appends k and v to a cache layer, then attends over it. */
export interface AttentionNode {
  readonly kind: 'attention';
  readonly layer: number;
  readonly q: ValueId;
  readonly k: ValueId;
  readonly v: ValueId;
  readonly numHeads: number;
  readonly scale: number;
  readonly window: number | null;
  readonly softcap: number | null;
  readonly out: ValueId;
}

export interface ActivationNode {
  readonly kind: 'activation';
  readonly activation: Activation;
  readonly x: ValueId;
  readonly out: ValueId;
}

export interface GatedActivationNode {
  readonly kind: 'gated-activation';
  readonly activation: Activation;
  readonly gate: ValueId;
  readonly up: ValueId;
  readonly out: ValueId;
}

/** out = residual + delta, over residual: nothing may read residual afterwards. */
export interface AddNode {
  readonly kind: 'add';
  readonly residual: ValueId;
  readonly delta: ValueId;
  readonly out: ValueId;
}

/** sum = residual + delta, over residual; out = rmsNorm(sum). Made by `fuseAddRmsNorm`. */
export interface AddRmsNormNode {
  readonly kind: 'add-rms-norm';
  readonly residual: ValueId;
  readonly delta: ValueId;
  readonly weight: WeightId;
  readonly eps: number;
  readonly sum: ValueId;
  readonly out: ValueId;
}

/** out = cap · tanh(x / cap), over x: nothing may read x afterwards. */
export interface SoftcapNode {
  readonly kind: 'softcap';
  readonly x: ValueId;
  readonly cap: number;
  readonly out: ValueId;
}

/** The chosen experts' gated MLPs, added up by their router weights. */
export interface MoeMlpNode {
  readonly kind: 'moe-mlp';
  readonly x: ValueId;
  readonly routerLogits: ValueId;
  readonly gates: readonly WeightId[];
  readonly ups: readonly WeightId[];
  readonly downs: readonly WeightId[];
  readonly numExpertsPerToken: number;
  readonly normalizeWeights: boolean;
  readonly activation: Activation;
  readonly out: ValueId;
}

/** From all tokens to the rows whose outputs are wanted. */
export interface OutputRowsNode {
  readonly kind: 'output-rows';
  readonly x: ValueId;
  readonly out: ValueId;
}

export type Node =
  | EmbedNode
  | RopeTableNode
  | RmsNormNode
  | LayerNormNode
  | LinearNode
  | SplitNode
  | RopeNode
  | AttentionNode
  | ActivationNode
  | GatedActivationNode
  | SoftcapNode
  | MoeMlpNode
  | AddNode
  | AddRmsNormNode
  | OutputRowsNode;

/** Values that a node reads. */
export function nodeInputs(node: Node): readonly ValueId[] {
  switch (node.kind) {
    case 'embed':
    case 'rope-table':
      return [];
    case 'rms-norm':
    case 'layer-norm':
    case 'linear':
    case 'split':
    case 'activation':
    case 'softcap':
    case 'output-rows':
      return [node.x];
    case 'moe-mlp':
      return [node.x, node.routerLogits];
    case 'rope':
      return [node.x, node.table];
    case 'attention':
      return [node.q, node.k, node.v];
    case 'gated-activation':
      return [node.gate, node.up];
    case 'add':
    case 'add-rms-norm':
      return [node.residual, node.delta];
  }
}

/** Values that a node makes, in the order in which it writes them. */
export function nodeOutputs(node: Node): readonly ValueId[] {
  switch (node.kind) {
    case 'linear':
      return node.parts.map((part) => part.out);
    case 'split':
      return node.outs;
    case 'add-rms-norm':
      return [node.sum, node.out];
    default:
      return [node.out];
  }
}
