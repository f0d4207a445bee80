import {
  type Backend,
  type BufferSpec,
  type CacheDtype,
  type Executable,
  MemoryFile,
  type Op,
  type Program,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  type Weights,
} from '@hearth/core';
import { makeBatch } from './batches.ts';
import { encodeWeights, fileSource } from './weight-source.ts';

/** A weight of the op under test. */
export interface TestWeight {
  readonly role: 'matrix' | 'vector';
  readonly shape: readonly number[];
  readonly values?: Float32Array;
  readonly dtype?: WeightDtype;
  /** As in a file, instead of values. */
  readonly bytes?: Uint8Array;
  readonly columnOrder?: Uint32Array;
}

/**
 * A program around a few ops, made by hand. Token t of the step is row t of `input`, which an embed op brings into buffer 0, as it
 * is. The ops read and write columns of buffer 0 and of further buffers of tokens; the last one's content is captured. The
 * rest (hidden rows, logits) is the least that a program must have.
 */
export interface OpProgram {
  /** [rows, inputWidth] */
  readonly input: Float32Array;
  readonly inputWidth: number;
  /** Widths of buffers 1, 2 … of tokens. The last of all buffers is what is captured. */
  readonly buffers?: readonly number[];
  /** Ids start at 0; the input's own weight comes after them. */
  readonly weights?: readonly TestWeight[];
  readonly ops: readonly Op[];
  readonly frame?: Partial<Pick<Program, 'ropes' | 'cacheGroups' | 'cacheLayers' | 'contextLength'>>;
  readonly cacheDtype?: CacheDtype;
  /** Position of the first token. */
  readonly start?: number;
}

/** The last buffer after the ops, [rows, width]. */
export async function runOps(backend: Backend, spec: OpProgram): Promise<Float32Array> {
  const { executable, dispose } = await compileOps(backend, spec);
  try {
    const rows = spec.input.length / spec.inputWidth;
    const start = spec.start ?? 0;
    const blocks = Array.from({ length: executable.cache.numBlocks }, (_, i) => executable.cache.numBlocks - 1 - i);
    const tokenIds = Array.from({ length: rows }, (_, t) => t);
    const { captures } = await executable.step(makeBatch([{ tokenIds, start, blocks, outputs: [0] }]));
    return captures!.get('result')!;
  } finally {
    await dispose();
  }
}

/** Compiled, with one output row and room for all rows at once. */
export async function compileOps(
  backend: Backend,
  spec: OpProgram,
): Promise<{ executable: Executable; dispose: () => Promise<void> }> {
  const { program, weights } = await loadOps(backend, spec);
  const executable = await backend.compile(program, weights, {
    maxTokens: program.vocabSize,
    maxOutputRows: 1,
    cache: { dtype: spec.cacheDtype ?? 'f32', blockSize: 16, numBlocks: Math.ceil(program.contextLength / 16) },
  });
  const dispose = async () => {
    await executable.dispose();
    await weights.dispose();
  };
  return { executable, dispose };
}

export async function loadOps(backend: Backend, spec: OpProgram): Promise<{ program: Program; weights: Weights }> {
  const rows = spec.input.length / spec.inputWidth;
  const program = opProgram(spec, rows);
  const sources = new Map<string, WeightSource>();
  for (const [i, { shape, values, dtype = 'f32', bytes, columnOrder }] of (spec.weights ?? []).entries()) {
    const file = new MemoryFile(bytes ?? encodeWeights(values!, dtype));
    sources.set(`w${i}`, fileSource(`w${i}`, shape, dtype, file, columnOrder && { columnOrder }));
  }
  const inputFile = new MemoryFile(encodeWeights(spec.input, 'f32'));
  sources.set('input', fileSource('input', [rows, spec.inputWidth], 'f32', inputFile));
  return { program, weights: await backend.loadWeights(program.weights, sources) };
}

/** The program alone; weights are `w0`, `w1` ... and `input`, in this order. */
export function opProgram(spec: OpProgram, rows: number): Program {
  const weights: WeightSpec[] = (spec.weights ?? []).map(({ role, shape }, i) => ({ name: `w${i}`, role, shape }));
  weights.push({ name: 'input', role: 'matrix', shape: [rows, spec.inputWidth] });
  const inputWeight = weights.length - 1;

  const arenaWidth = { tokens: 0, outputs: 0 };
  const buffers: BufferSpec[] = [];
  const addBuffer = (kind: 'tokens' | 'outputs', width: number) => {
    buffers.push({ rows: kind, width, offset: arenaWidth[kind] });
    arenaWidth[kind] += Math.ceil(width / 16) * 16;
    return { buffer: buffers.length - 1, column: 0, width };
  };
  const input = addBuffer('tokens', spec.inputWidth);
  let result = input;
  for (const width of spec.buffers ?? []) result = addBuffer('tokens', width);
  const hidden = addBuffer('outputs', spec.inputWidth);
  const logits = addBuffer('outputs', rows);
  return {
    name: 'op-test',
    hiddenSize: spec.inputWidth,
    vocabSize: rows,
    contextLength: spec.frame?.contextLength ?? rows + (spec.start ?? 0),
    weights,
    buffers,
    arenaWidth,
    ropes: spec.frame?.ropes ?? [],
    cacheGroups: spec.frame?.cacheGroups ?? [{ window: null }],
    cacheLayers: spec.frame?.cacheLayers ?? [],
    ops: [
      { kind: 'embed', name: 'input', ids: 'tokens', scale: 1, weight: inputWeight, out: input },
      ...spec.ops,
      { kind: 'capture', name: 'result', x: result, capture: 0 },
      { kind: 'gather-rows', name: 'hidden', x: input, out: hidden },
      { kind: 'linear', name: 'logits', x: hidden, weights: [inputWeight], biases: [null], out: logits },
    ],
    hidden,
    logits,
    captures: [{ name: 'result', rows: 'tokens', width: result.width }],
  };
}
