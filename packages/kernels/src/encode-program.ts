import { type CacheGroupSpec, type Op, type Program, type RowKind, UnsupportedError, type View } from '@hearth/core';

/** First word. Raised with every change of the encoding, here and in native/program/decode_program.cc. */
const ENCODING_VERSION = 1;
const NO_BIAS = -1;

const rowKinds: Readonly<Record<RowKind, number>> = { tokens: 0, outputs: 1 };

/** In the order of the `Op` variant of native/program/program.h. */
const opKinds: Readonly<Record<Op['kind'], number>> = {
  embed: 0,
  'rope-table': 1,
  'rms-norm': 2,
  'add-rms-norm': 3,
  add: 4,
  linear: 5,
  rope: 6,
  'write-cache': 7,
  attention: 8,
  'gated-activation': 9,
  'gather-rows': 10,
  capture: 11,
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
 * @throws UnsupportedError when an op asks for something that this backend does not do
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
      words.integers(weight(op.weight));
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
      if (op.softcap !== null) throw unsupported(op, 'softcap');
      words.integers(op.layer);
      words.view(op.q);
      words.view(op.out);
      words.integers(op.numHeads);
      words.real(op.scale);
      words.integers(op.window ?? 0);
      break;
    case 'gated-activation':
      if (op.activation !== 'silu') throw unsupported(op, `the activation ${op.activation}`);
      words.view(op.gate);
      words.view(op.up);
      words.view(op.out);
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

function unsupported(op: Op, what: string): UnsupportedError {
  return new UnsupportedError(`The CPU backend does not have ${what}, which ${op.name} needs.`, {
    details: { op: op.name },
  });
}
