import { type Activation, InvalidArgumentError, type WeightSpec } from '@hearth/core';
import type { ValueId, ValueSpec } from './graph.ts';

/** A matrix [tokens or outputs, width] of the model being built. Only its builder can make one. */
export interface Value extends ValueSpec {
  readonly id: ValueId;
}

/** A weight that the definition looked up. */
export interface Weight extends WeightSpec {
  /** Index into `Graph.weights`. */
  readonly id: number;
}

export interface ModelShape {
  readonly name: string;
  readonly hiddenSize: number;
  readonly vocabSize: number;
  readonly contextLength: number;
}

export interface AttentionAttributes {
  /** The boundary, such as `model.layers.0.self_attn.attention`. */
  readonly name: string;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Multiplies the scores; 1 / sqrt(headDim) in most models. */
  readonly scale: number;
  /** Only the last `window` positions are visible. Default: all are. */
  readonly window?: number | null;
  /** Scores become softcap · tanh(score / softcap) (Gemma 2). Default: they stay as they are. */
  readonly softcap?: number | null;
}

export interface MoeAttributes {
  /** The boundary, such as `model.layers.0.mlp`. */
  readonly name: string;
  readonly activation: Activation;
  readonly numExpertsPerToken: number;
  /** Whether the chosen experts' weights are divided by their sum. */
  readonly normalizeWeights: boolean;
}

/** The matrices of one expert: gate and up [expertWidth, hidden], down [hidden, expertWidth]. */
export interface Expert {
  readonly gate: Weight;
  readonly up: Weight;
  readonly down: Weight;
}

/** How a checkpoint keeps a weight, where that is not simply its values, row by row. See `WeightSpec`. */
export interface StoredForm {
  readonly transposed?: boolean;
  readonly plus?: number;
}

/** `model.norm.weight` is the weight of boundary `model.norm`. */
export function boundaryOf(weight: Weight): string {
  return weight.name.replace(/\.(weight|bias)$/, '');
}

export function matrixShape(weight: Weight): [number, number] {
  if (weight.role !== 'matrix') throw new InvalidArgumentError(`${weight.name} is a vector, a matrix is needed here.`);
  return [weight.shape[0]!, weight.shape[1]!];
}

export function vectorLength(weight: Weight): number {
  if (weight.role !== 'vector') throw new InvalidArgumentError(`${weight.name} is a matrix, a vector is needed here.`);
  return weight.shape[0]!;
}

/** All experts have the shapes of the first, which take rows of `hidden` columns. */
export function requireExpertShapes(experts: readonly Expert[], hidden: number): void {
  const expertWidth = experts[0] ? matrixShape(experts[0].gate)[0] : 0;
  for (const { gate, up, down } of experts) {
    for (const [weight, shape] of [
      [gate, [expertWidth, hidden]],
      [up, [expertWidth, hidden]],
      [down, [hidden, expertWidth]],
    ] as const) {
      if (matrixShape(weight).join() === shape.join()) continue;
      throw new InvalidArgumentError(`${weight.name} is [${weight.shape}], expected [${shape}].`);
    }
  }
}
