import { type Backend, type Batch, MemoryFile, type Program, type RopeSpec, type WeightSource } from '@hearth/core';
import { type Graph, GraphBuilder, lower } from '@hearth/graph';

/**
 * cos and sin of a rope at given positions: [positions, rotaryDim / 2] each. Every position is a sequence of its own, so
 * that they can lie far apart; without attention there is no cache to fill before them.
 */
export async function computeRopeTables(
  backend: Backend,
  rope: RopeSpec,
  positions: readonly number[],
): Promise<{ cos: Float32Array; sin: Float32Array }> {
  const { rotaryDim } = rope;
  const table = new Float32Array(2 * rotaryDim);
  const graph = smallGraph(2, rotaryDim, Math.max(...positions) + 1, (g, x) => {
    const tables = g.ropeTable(rope, 'rope');
    return g.rope(x, tables, { name: 'rotated', headDim: rotaryDim });
  });
  const rows = await runSmall(backend, lower(graph, { captures: ['rope'] }), { 'table.weight': table }, 'rope', {
    tokenIds: Int32Array.from(positions, () => 0),
    positions: Int32Array.from(positions),
    cuSeqlensQ: Int32Array.from({ length: positions.length + 1 }, (_, i) => i),
    contextLens: Int32Array.from(positions, (position) => position + 1),
    blockTables: [],
    outputRows: Int32Array.of(0),
  });
  const half = rotaryDim / 2;
  const columns = (first: number) =>
    Float32Array.from({ length: positions.length * half }, (_, i) => {
      return rows[Math.floor(i / half) * rotaryDim + first + (i % half)]!;
    });
  return { cos: columns(0), sin: columns(half) };
}

/** RMSNorm of rows [numRows, width] with a weight [width]. */
export async function computeRmsNorm(
  backend: Backend,
  input: Float32Array,
  weight: Float32Array,
  eps: number,
): Promise<Float32Array> {
  const width = weight.length;
  const numRows = input.length / width;
  const graph = smallGraph(numRows, width, numRows, (g, x) => g.rmsNorm(x, g.weight('norm.weight', [width]), eps));
  const program = lower(graph, { captures: ['norm'] });
  return runSmall(backend, program, { 'table.weight': input, 'norm.weight': weight }, 'norm', {
    tokenIds: Int32Array.from({ length: numRows }, (_, row) => row),
    positions: Int32Array.from({ length: numRows }, (_, row) => row),
    cuSeqlensQ: Int32Array.of(0, numRows),
    contextLens: Int32Array.of(numRows),
    blockTables: [],
    outputRows: Int32Array.of(0),
  });
}

/**
 * A model that looks its input up in a table [numRows, width], does one thing with it, and ends: programs have no other
 * way in for values.
 */
function smallGraph(
  numRows: number,
  width: number,
  contextLength: number,
  op: (g: GraphBuilder, x: ReturnType<GraphBuilder['embed']>) => ReturnType<GraphBuilder['embed']>,
): Graph {
  const g = new GraphBuilder({ name: 'one op', vocabSize: numRows, hiddenSize: width, contextLength });
  const table = g.weight('table.weight', [numRows, width]);
  const hidden = g.outputRows(op(g, g.embed(table)));
  return g.outputs({ hidden, logits: g.linear(hidden, table, { name: 'head' }) });
}

async function runSmall(
  backend: Backend,
  program: Program,
  values: Readonly<Record<string, Float32Array>>,
  capture: string,
  batch: Batch,
): Promise<Float32Array> {
  const sources = new Map<string, WeightSource>();
  for (const { name, shape } of program.weights) {
    const { buffer, byteOffset, byteLength } = values[name]!;
    const file = new MemoryFile(new Uint8Array(buffer, byteOffset, byteLength), name);
    sources.set(name, { name, dtype: 'f32', shape, file, offset: 0, byteLength });
  }
  const weights = await backend.loadWeights(program.weights, sources);
  try {
    const executable = await backend.compile(program, weights, {
      maxTokens: batch.tokenIds.length,
      maxOutputRows: 1,
      cache: { dtype: 'f32', blockSize: 16, numBlocks: 1 },
    });
    try {
      return (await executable.step(batch)).captures!.get(capture)!;
    } finally {
      await executable.dispose();
    }
  } finally {
    await weights.dispose();
  }
}
