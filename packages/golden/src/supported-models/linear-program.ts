import type { BufferSpec, Program, WeightSource } from '@hearth/core';
import { MemoryFile } from '@hearth/core';

/**
 * A program of one product: token t takes row t of the input, and the matrix times it is captured as `product`.
 * @param name of the matrix [rows, columns] among its weights; the input is `input`, f32 [tokens, columns]
 */
export function linearProgram(name: string, [rows, columns]: readonly [number, number], tokens: number): Program {
  const arenaWidth = { tokens: 0, outputs: 0 };
  const buffers: BufferSpec[] = [];
  const addBuffer = (kind: 'tokens' | 'outputs', width: number) => {
    buffers.push({ rows: kind, width, offset: arenaWidth[kind] });
    arenaWidth[kind] += Math.ceil(width / 16) * 16;
    return { buffer: buffers.length - 1, column: 0, width };
  };
  const [input, product] = [addBuffer('tokens', columns), addBuffer('tokens', rows)];
  const [hidden, logits] = [addBuffer('outputs', columns), addBuffer('outputs', tokens)];
  return {
    name: 'linear',
    hiddenSize: columns,
    vocabSize: tokens,
    contextLength: tokens,
    weights: [
      { name, role: 'matrix', shape: [rows, columns] },
      { name: 'input', role: 'matrix', shape: [tokens, columns] },
    ],
    buffers,
    arenaWidth,
    ropes: [],
    cacheGroups: [{ window: null }],
    cacheLayers: [],
    ops: [
      { kind: 'embed', name: 'input', ids: 'tokens', scale: 1, weight: 1, out: input },
      { kind: 'linear', name: 'product', x: input, weights: [0], biases: [null], out: product },
      { kind: 'capture', name: 'product', x: product, capture: 0 },
      // The least that a program must have.
      { kind: 'gather-rows', name: 'hidden', x: input, out: hidden },
      { kind: 'linear', name: 'logits', x: hidden, weights: [1], biases: [null], out: logits },
    ],
    hidden,
    logits,
    captures: [{ name: 'product', rows: 'tokens', width: rows }],
  };
}

export function f32Source(name: string, shape: readonly number[], values: Float32Array): WeightSource {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { name, shape, dtype: 'f32', file: new MemoryFile(bytes), offset: 0, byteLength: bytes.length };
}
