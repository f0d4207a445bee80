import {
  type Activation,
  type CacheGroupSpec,
  type CacheLayerSpec,
  InvalidArgumentError,
  type RopeSpec,
  type RowKind,
} from '@hearth/core';
import {
  type AttentionAttributes,
  boundaryOf,
  type Expert,
  type ModelShape,
  type MoeAttributes,
  matrixShape,
  requireExpertShapes,
  type StoredForm,
  type Value,
  vectorLength,
  type Weight,
} from './definition.ts';
import type { Graph, Node } from './graph.ts';

/**
 * What a model definition talks to. Each method adds one step of the forward pass and returns its value; nothing is
 * computed. Values of `tokens` have one row per token of a step, values of `outputs` one per wanted row.
 *
 * Every value is a boundary with a name of its own, taken from its weight (`….q_proj.weight` makes `….q_proj`) unless the
 * definition gives one. Widths are checked here, so that a wrong definition fails at its own line.
 */
export class GraphBuilder {
  readonly #shape: ModelShape;
  readonly #weights: Weight[] = [];
  readonly #weightsByName = new Map<string, Weight>();
  readonly #values: Value[] = [];
  readonly #ropes: RopeSpec[] = [];
  readonly #cacheGroups: CacheGroupSpec[] = [];
  readonly #cacheLayers: CacheLayerSpec[] = [];
  readonly #nodes: Node[] = [];
  readonly #names = new Set<string>();

  constructor(shape: ModelShape) {
    this.#shape = shape;
  }

  /**
   * Looks up a weight by its checkpoint name: a matrix [rows, columns] or a vector [length]. The same name may be looked
   * up again (tied embeddings), with the same shape.
   *
   * @param stored how the checkpoint holds it, when it is transposed or lacks a summand
   */
  weight(name: string, shape: readonly [number] | readonly [number, number], stored: StoredForm = {}): Weight {
    const known = this.#weightsByName.get(name);
    if (known) {
      if (known.shape.join() !== shape.join()) {
        throw new InvalidArgumentError(`${name} was looked up as [${known.shape}] and now as [${shape}].`);
      }
      return known;
    }
    const role = shape.length === 2 ? 'matrix' : 'vector';
    const weight: Weight = { id: this.#weights.length, name, role, shape: [...shape], ...stored };
    this.#weights.push(weight);
    this.#weightsByName.set(name, weight);
    return weight;
  }

  /** Row tokenIds[t] of the table [vocabSize, width], times `scale`, for each token: [tokens, width] */
  embed(table: Weight, { scale = 1 }: { readonly scale?: number } = {}): Value {
    const [vocabSize, width] = matrixShape(table);
    if (vocabSize !== this.#shape.vocabSize) {
      throw new InvalidArgumentError(
        `${table.name} has ${vocabSize} rows for a vocabulary of ${this.#shape.vocabSize}.`,
      );
    }
    return this.#gather(table, 'tokens', width, scale);
  }

  /** Row positions[t] of the table [at least contextLength, width] for each token: [tokens, width] */
  embedPositions(table: Weight): Value {
    const [numPositions, width] = matrixShape(table);
    if (numPositions < this.#shape.contextLength) {
      throw new InvalidArgumentError(
        `${table.name} has ${numPositions} rows for a context of ${this.#shape.contextLength}.`,
      );
    }
    return this.#gather(table, 'positions', width, 1);
  }

  #gather(table: Weight, ids: 'tokens' | 'positions', width: number, scale: number): Value {
    const out = this.#value(boundaryOf(table), 'tokens', width);
    this.#nodes.push({ kind: 'embed', weight: table.id, ids, scale: Math.fround(scale), out: out.id });
    return out;
  }

  /** cos and sin of the step's positions: [tokens, rotaryDim]. Made once, read by every `rope`. */
  ropeTable(rope: RopeSpec, name = 'model.rotary_emb'): Value {
    const out = this.#value(name, 'tokens', rope.rotaryDim);
    this.#nodes.push({ kind: 'rope-table', rope: this.#ropes.length, out: out.id });
    this.#ropes.push(rope);
    return out;
  }

  /** x / rms(x) · weight, row by row. weight: [x.width], or [headDim] to normalise each head by itself */
  rmsNorm(x: Value, weight: Weight, eps: number): Value {
    const groupWidth = vectorLength(weight);
    if (x.width % groupWidth !== 0) this.#sameWidth(boundaryOf(weight), x.width, groupWidth);
    const out = this.#value(boundaryOf(weight), x.rows, x.width);
    this.#nodes.push({ kind: 'rms-norm', x: x.id, weight: weight.id, eps: Math.fround(eps), out: out.id });
    return out;
  }

  /** (x − mean) / sqrt(var + eps) · weight + bias, row by row. weight, bias: [x.width] */
  layerNorm(x: Value, weight: Weight, bias: Weight, eps: number): Value {
    const name = boundaryOf(weight);
    this.#sameWidth(name, x.width, vectorLength(weight));
    this.#sameWidth(`${name} (bias)`, x.width, vectorLength(bias));
    const out = this.#value(name, x.rows, x.width);
    this.#nodes.push({
      kind: 'layer-norm',
      x: x.id,
      weight: weight.id,
      bias: bias.id,
      eps: Math.fround(eps),
      out: out.id,
    });
    return out;
  }

  /** x · Wᵀ (+ bias). weight: [out.width, x.width], bias: [out.width] */
  linear(x: Value, weight: Weight, options: { readonly bias?: Weight | null; readonly name?: string } = {}): Value {
    const name = options.name ?? boundaryOf(weight);
    const [width, inputWidth] = matrixShape(weight);
    this.#sameWidth(name, x.width, inputWidth);
    const bias = options.bias ?? null;
    if (bias) this.#sameWidth(`${name} (bias)`, width, vectorLength(bias));
    const out = this.#value(name, x.rows, width);
    this.#nodes.push({
      kind: 'linear',
      x: x.id,
      parts: [{ weight: weight.id, bias: bias ? bias.id : null, out: out.id }],
    });
    return out;
  }

  /**
   * Cuts x into values side by side (the q, k and v of a fused projection). Consumes x: they are views of it.
   * @param parts their names and widths, which add up to x.width
   */
  split<const Parts extends readonly { readonly name: string; readonly width: number }[]>(
    x: Value,
    parts: Parts,
  ): { [Index in keyof Parts]: Value } {
    const width = parts.reduce((sum, part) => sum + part.width, 0);
    this.#sameWidth(`the parts of ${x.name}`, width, x.width);
    const outs = parts.map((part) => this.#value(part.name, x.rows, part.width));
    this.#nodes.push({ kind: 'split', x: x.id, outs: outs.map((out) => out.id) });
    return outs as { [Index in keyof Parts]: Value };
  }

  /** Rotates each head of x by its position. Consumes x: it is rotated in place. */
  rope(x: Value, table: Value, options: { readonly name: string; readonly headDim: number }): Value {
    const { name, headDim } = options;
    if (x.width % headDim !== 0 || table.width > headDim) {
      throw new InvalidArgumentError(
        `${name}: ${x.name} is ${x.width} wide, which is not whole heads of ${headDim} with ${table.width} rotating dimensions.`,
      );
    }
    const out = this.#value(name, x.rows, x.width);
    this.#nodes.push({ kind: 'rope', x: x.id, table: table.id, headDim, rotaryDim: table.width, out: out.id });
    return out;
  }

  /**
   * Appends k and v to a cache layer of their own, then attends over it, causally.
   *
   * @param q [tokens, numHeads · headDim]
   * @param k [tokens, numKvHeads · headDim]
   * @param v as k
   * @returns [tokens, numHeads · headDim]
   */
  attention(q: Value, k: Value, v: Value, attributes: AttentionAttributes): Value {
    const { name, numHeads, numKvHeads, headDim, scale, window = null, softcap = null } = attributes;
    this.#sameWidth(`${name} (q)`, q.width, numHeads * headDim);
    this.#sameWidth(`${name} (k)`, k.width, numKvHeads * headDim);
    this.#sameWidth(`${name} (v)`, v.width, numKvHeads * headDim);
    if (numHeads % numKvHeads !== 0) {
      throw new InvalidArgumentError(`${name}: ${numHeads} heads cannot share ${numKvHeads} KV heads evenly.`);
    }
    const out = this.#value(name, 'tokens', q.width);
    const layer = this.#cacheLayers.length;
    this.#cacheLayers.push({ numKvHeads, headDim, group: this.#cacheGroup(window) });
    this.#nodes.push({
      kind: 'attention',
      layer,
      q: q.id,
      k: k.id,
      v: v.id,
      numHeads,
      scale: Math.fround(scale),
      window,
      softcap,
      out: out.id,
    });
    return out;
  }

  /** activation(x) */
  activation(activation: Activation, x: Value, options: { readonly name: string }): Value {
    const out = this.#value(options.name, x.rows, x.width);
    this.#nodes.push({ kind: 'activation', activation, x: x.id, out: out.id });
    return out;
  }

  /** activation(gate) · up */
  gatedActivation(activation: Activation, gate: Value, up: Value, options: { readonly name: string }): Value {
    this.#sameWidth(options.name, gate.width, up.width);
    const out = this.#value(options.name, gate.rows, gate.width);
    this.#nodes.push({ kind: 'gated-activation', activation, gate: gate.id, up: up.id, out: out.id });
    return out;
  }

  /** cap · tanh(x / cap). Consumes x: it is capped in place. */
  softcap(x: Value, cap: number, options: { readonly name: string }): Value {
    const out = this.#value(options.name, x.rows, x.width);
    this.#nodes.push({ kind: 'softcap', x: x.id, cap: Math.fround(cap), out: out.id });
    return out;
  }

  /**
   * Each row goes through the gated MLPs of its `numExpertsPerToken` best experts, which are added up by their router weights
   * (the softmax of routerLogits over all experts).
   *
   * @param x [tokens, hidden]
   * @param routerLogits [tokens, numExperts]
   * @returns [tokens, hidden]
   */
  moeMlp(x: Value, routerLogits: Value, experts: readonly Expert[], attributes: MoeAttributes): Value {
    const { name, activation, numExpertsPerToken, normalizeWeights } = attributes;
    this.#sameWidth(`${name} (router logits)`, routerLogits.width, experts.length);
    requireExpertShapes(experts, x.width);
    const out = this.#value(name, x.rows, x.width);
    this.#nodes.push({
      kind: 'moe-mlp',
      x: x.id,
      routerLogits: routerLogits.id,
      gates: experts.map(({ gate }) => gate.id),
      ups: experts.map(({ up }) => up.id),
      downs: experts.map(({ down }) => down.id),
      numExpertsPerToken,
      normalizeWeights,
      activation,
      out: out.id,
    });
    return out;
  }

  /** residual + delta. Consumes residual: it is added to in place. */
  add(residual: Value, delta: Value, options: { readonly name: string }): Value {
    this.#sameWidth(options.name, residual.width, delta.width);
    const out = this.#value(options.name, residual.rows, residual.width);
    this.#nodes.push({ kind: 'add', residual: residual.id, delta: delta.id, out: out.id });
    return out;
  }

  /** The rows of x whose outputs are wanted: [outputs, x.width]. What follows is computed for them alone. */
  outputRows(x: Value, name = 'model.output_rows'): Value {
    const out = this.#value(name, 'outputs', x.width);
    this.#nodes.push({ kind: 'output-rows', x: x.id, out: out.id });
    return out;
  }

  /** Ends the definition. hidden: [outputs, hiddenSize], logits: [outputs, vocabSize] */
  outputs({ hidden, logits }: { readonly hidden: Value; readonly logits: Value }): Graph {
    this.#sameWidth('hidden', hidden.width, this.#shape.hiddenSize);
    this.#sameWidth('logits', logits.width, this.#shape.vocabSize);
    return {
      ...this.#shape,
      weights: this.#weights.map(({ id: _, ...spec }) => spec),
      values: this.#values.map(({ name, rows, width }) => ({ name, rows, width })),
      ropes: [...this.#ropes],
      cacheGroups: [...this.#cacheGroups],
      cacheLayers: [...this.#cacheLayers],
      nodes: [...this.#nodes],
      hidden: hidden.id,
      logits: logits.id,
    };
  }

  #value(name: string, rows: RowKind, width: number): Value {
    if (this.#names.has(name)) throw new InvalidArgumentError(`Two values are named ${name}; give one another name.`);
    this.#names.add(name);
    const value: Value = { id: this.#values.length, name, rows, width };
    this.#values.push(value);
    return value;
  }

  #cacheGroup(window: number | null): number {
    const known = this.#cacheGroups.findIndex((group) => group.window === window);
    return known >= 0 ? known : this.#cacheGroups.push({ window }) - 1;
  }

  #sameWidth(name: string, width: number, expected: number): void {
    if (width !== expected) throw new InvalidArgumentError(`${name}: got a width of ${width}, expected ${expected}.`);
  }
}
