import { type Checkpoint, openCheckpoint, weightSource } from '@hearth/checkpoint';
import { type Backend, InvalidModelError, UnsupportedError, type WeightSource } from '@hearth/core';
import { buildModel, checkTensors, type Model } from '@hearth/models';
import { singleBatch } from '../single-batch.ts';

/** What is known of one family in one format. */
export type CellOutcome =
  | { readonly kind: 'proven'; readonly logits: Float32Array }
  | { readonly kind: 'refused'; readonly message: string };

/** Tokens of each step: one large chunk, small ones, then one token at a time; 256 in all. */
const steps = [192, 16, 16, 16, ...new Array<number>(16).fill(1)];

/**
 * Opens a model and runs 256 tokens on every backend. Proven means that all of them give the same bits for the logits of
 * every token, and that these are not all alike.
 *
 * @param dtypes most matrices must have one of these types, so that a fallback is not taken for it
 * @throws Error when backends differ
 */
export async function proveCell(
  path: string,
  backends: readonly Backend[],
  dtypes: ReadonlySet<string>,
): Promise<CellOutcome> {
  let checkpoint: Checkpoint | undefined;
  try {
    checkpoint = await openCheckpoint(path);
    const model = await buildModel(checkpoint.config, { tensorNames: checkpoint.tensors.keys(), contextLength: 512 });
    checkTensors(model, checkpoint.tensors.values());
    const sources = new Map(
      model.weights.map((spec) => [spec.name, weightSource(checkpoint!.tensors.get(spec.name)!, spec)]),
    );
    requireTypes(sources, dtypes);
    const runs: Float32Array[] = [];
    for (const backend of backends) runs.push(await logitsOf(model, sources, backend));
    requireEqual(runs);
    return { kind: 'proven', logits: runs[0]! };
  } catch (error) {
    if (!(error instanceof UnsupportedError || error instanceof InvalidModelError)) throw error;
    return { kind: 'refused', message: error.message.replaceAll(path, 'the model') };
  } finally {
    await checkpoint?.close();
  }
}

/** Logits of all tokens, [256, vocabSize]. */
async function logitsOf(
  model: Model,
  sources: ReadonlyMap<string, WeightSource>,
  backend: Backend,
): Promise<Float32Array> {
  const weights = await backend.loadWeights(model.weights, sources);
  try {
    const program = model.createProgram();
    const numTokens = steps.reduce((sum, count) => sum + count, 0);
    const executable = await backend.compile(program, weights, {
      maxTokens: Math.max(...steps),
      maxOutputRows: Math.max(...steps),
      cache: { dtype: 'f16', blockSize: 32, numBlocks: Math.ceil(numTokens / 32) },
    });
    try {
      const logits = new Float32Array(numTokens * model.vocabSize);
      let start = 0;
      for (const count of steps) {
        const tokenIds = Array.from({ length: count }, (_, i) => ((start + i) * 37 + 11) % model.vocabSize);
        const rows = tokenIds.map((_, i) => i);
        const batch = singleBatch(tokenIds, start, rows, executable.cache, program.cacheGroups.length);
        const result = await executable.step(batch);
        logits.set(result.logits!, start * model.vocabSize);
        start += count;
      }
      return logits;
    } finally {
      await executable.dispose();
    }
  } finally {
    await weights.dispose();
  }
}

/** The types that the cell is about are really there. */
function requireTypes(sources: ReadonlyMap<string, WeightSource>, dtypes: ReadonlySet<string>): void {
  const matrices = [...sources.values()].filter(({ shape }) => shape.length === 2);
  const others = matrices.filter(({ dtype }) => !dtypes.has(dtype));
  if (others.length < matrices.length / 2) return;
  throw new Error(`Most matrices are ${others[0]?.dtype}, expected ${[...dtypes].join(' or ')}.`);
}

function requireEqual([first, ...others]: readonly Float32Array[]): void {
  const bits = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (const other of others) {
    const [a, b] = [bits(first!), bits(other)];
    const at = a.findIndex((word, i) => word !== b[i]);
    if (at >= 0) throw new Error(`Backends differ at logit ${at}: ${first![at]} and ${other[at]}.`);
  }
  if (new Set(first).size < first!.length / 4)
    throw new Error('The logits are nearly all alike: the model does nothing.');
}
