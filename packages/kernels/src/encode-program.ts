import type { Activation, CacheGroupSpec, EmbedOp, Op, Program, RowKind, View } from '@hearth/core';

/** First word. Raised with every change of the encoding, here and in native/program/decode_program.cc. */
const ENCODING_VERSION = 2;
const NO_BIAS = -1;

const rowKinds: Readonly<Record<RowKind, number>> = { tokens: 0, outputs: 1 };

const embedIds: Readonly<Record<EmbedOp['ids'], number>> = { tokens: 0, positions: 1 };

/** Numbers of native/kernels/activation_function.h. */
const activations: Readonly<Record<Activation, number>> = { silu: 0, 'gelu-tanh': 1 };

/** In the order of the `Op` variant of native/program/program.h. */
const opKinds: Readonly<Record<Op['kind'], number>> = {
  embed: 0,
  'rope-table': 1,
  'rms-norm': 2,
  'layer-norm': 3,
  'add-rms-norm': 4,
  add: 5,
  linear: 6,
  rope: 7,
  'write-cache': 8,
  attention: 9,
  activation: 10,
  'gated-activation': 11,
  softcap: 12,
  'moe-mlp': 13,
  'gather-rows': 14,
  capture: 15,
};

/** Appends integers, and floats by their f32 bits. */
class WordWriter {
  readonly #words: number[] = [];
  readonly #float = new Float32Array(1);
  readonly #bits = new Int32Array(this.#float.buffer);

  integers(...values: number[]): void {
    this.#words.push(...values);
  }

  /** Rounded to f32, as every backend reads it. */
  real(value: number): void {
    this.#float[0] = value;
    this.#words.push(this.#bits[0]!);
  }

  view({ buffer, column, width }: View): void {
    this.integers(buffer, column, width);
  }

  /** A record per item, preceded by their number. */
  list<T>(items: readonly T[], write: (item: T) => void): void {
    this.integers(items.length);
    for (const item of items) write(item);
  }

  finish(): Int32Array {
    return Int32Array.from(this.#words);
  }
}

/**
 * The words that native/program/decode_program.cc reads. Names stay behind: native code knows ops by their index.
 *
 * @param weightIndices index in the native weights, by weight id
 */
export function encodeProgram(program: Program, weightIndices: readonly number[]): Int32Array {
  const words = new WordWriter();
  words.integers(ENCODING_VERSION, program.vocabSize, program.hiddenSize, program.contextLength);
  words.integers(program.arenaWidth.tokens, program.arenaWidth.outputs);
  words.list(program.buffers, ({ rows, width, offset }) => words.integers(rowKinds[rows], width, offset));
  words.list(program.ropes, (rope) => {
    words.real(rope.attentionScaling);
    words.list([...rope.invFreq], (frequency) => words.real(frequency));
  });
  words.list(program.cacheGroups, (group: CacheGroupSpec) => words.integers(group.window ?? 0));
  words.list(program.cacheLayers, (layer) => words.integers(layer.numKvHeads, layer.headDim, layer.group));
  words.list(program.captures, ({ rows, width }) => words.integers(rowKinds[rows], width));
  words.view(program.hidden);
  words.view(program.logits);
  words.list(program.ops, (op) => encodeOp(words, op, weightIndices));
  return words.finish();
}

function encodeOp(words: WordWriter, op: Op, weightIndices: readonly number[]): void {
  const weight = (id: number) => weightIndices[id] ?? -1;
  words.integers(opKinds[op.kind]);
  switch (op.kind) {
    case 'embed':
      words.integers(weight(op.weight), embedIds[op.ids]);
      words.real(op.scale);
      words.view(op.out);
      break;
    case 'rope-table':
      words.integers(op.rope);
      words.view(op.out);
      break;
    case 'rms-norm':
      words.view(op.x);
      words.integers(weight(op.weight));
      words.real(op.eps);
      words.view(op.out);
      break;
    case 'layer-norm':
      words.view(op.x);
      words.integers(weight(op.weight), weight(op.bias));
      words.real(op.eps);
      words.view(op.out);
      break;
    case 'add-rms-norm':
      words.view(op.residual);
      words.view(op.delta);
      words.integers(weight(op.weight));
      words.real(op.eps);
      words.view(op.out);
      break;
    case 'add':
      words.view(op.residual);
      words.view(op.delta);
      break;
    case 'linear':
      words.view(op.x);
      words.view(op.out);
      words.list([...op.weights.keys()], (i) => {
        const bias = op.biases[i] ?? null;
        words.integers(weight(op.weights[i]!), bias === null ? NO_BIAS : weight(bias));
      });
      break;
    case 'rope':
      words.view(op.x);
      words.view(op.table);
      words.integers(op.headDim, op.rotaryDim);
      break;
    case 'write-cache':
      words.integers(op.layer);
      words.view(op.k);
      words.view(op.v);
      break;
    case 'attention':
      words.integers(op.layer);
      words.view(op.q);
      words.view(op.out);
      words.integers(op.numHeads);
      words.real(op.scale);
      words.integers(op.window ?? 0);
      words.real(op.softcap ?? 0);
      break;
    case 'activation':
      words.integers(activations[op.activation]);
      words.view(op.x);
      words.view(op.out);
      break;
    case 'gated-activation':
      words.integers(activations[op.activation]);
      words.view(op.gate);
      words.view(op.up);
      words.view(op.out);
      break;
    case 'softcap':
      words.view(op.x);
      words.real(op.cap);
      break;
    case 'moe-mlp':
      words.view(op.x);
      words.view(op.routerLogits);
      words.view(op.out);
      words.integers(activations[op.activation], op.numExpertsPerToken, op.normalizeWeights ? 1 : 0);
      words.list([...op.gates.keys()], (i) => {
        words.integers(weight(op.gates[i]!), weight(op.ups[i] ?? -1), weight(op.downs[i] ?? -1));
      });
      break;
    case 'gather-rows':
      words.view(op.x);
      words.view(op.out);
      break;
    case 'capture':
      words.view(op.x);
      words.integers(op.capture);
      break;
  }
}
