import type { Checkpoint } from '@hearth/checkpoint';
import {
  type Backend,
  type BackendInfo,
  InvalidArgumentError,
  type RopeSpec,
  throwIfAborted,
  type WeightDtype,
  type Weights,
} from '@hearth/core';
import { buildModel, checkTensors, type Model } from '@hearth/models';
import { type Comparison, compareTensor } from './compare.ts';
import type { Goldens } from './goldens.ts';
import type { GoldenRunName } from './manifest.ts';
import { type GreedyReport, replayGreedy } from './replay-greedy.ts';
import { computeRmsNorm, computeRopeTables } from './replay-ops.ts';
import { computeSteps, lastRows } from './replay-steps.ts';
import { type WeightsForm, weightSources } from './weights.ts';

export interface ReplayOptions {
  /** Opened with the file mapper of the backend. */
  readonly checkpoint: Checkpoint;
  readonly backend: Backend;
  readonly goldens: Goldens;
  /**
   * How the weights are run. `float32`: decoded, which is what the goldens were made with, so everything is compared.
   * `bfloat16`: decoded and rounded; the greedy tokens are compared with those of the same rounding. `stored`: as they are
   * in the file; of quantized weights the share of greedy tokens that agree with float32 is reported. Default: `stored`
   * when all weights are bf16, else `float32`.
   */
  readonly weights?: WeightsForm | undefined;
  /** Names of the greedy prompts to run. Default: all. */
  readonly prompts?: readonly string[] | undefined;
  /** Most tokens of each prompt. Default: as many as the golden has. */
  readonly maxTokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined;
}

export type ReplayProgress =
  | { readonly phase: 'weights'; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly phase: 'boundaries' }
  | { readonly phase: 'greedy'; readonly prompt: string };

export interface ReplayReport {
  readonly goldens: { readonly id: string; readonly revision: string; readonly directory: string };
  readonly backend: BackendInfo;
  readonly weights: WeightsForm;
  /** Which of the golden runs the greedy tokens were held against. */
  readonly run: GoldenRunName;
  /** Weights that do not decode to the values that the goldens were made with: another model, or a wrong reader. */
  readonly wrongWeights: readonly string[];
  /** In the order of computation; empty when the weights are not those of the goldens by intention. */
  readonly comparisons: readonly Comparison[];
  /** The first of them that failed: everything after it may be wrong only because of it. */
  readonly firstMismatch: Comparison | null;
  readonly greedy: readonly GreedyReport[];
  /** Whether all that must be equal was. Shares of agreement (mode `forced`) are reported, not judged. */
  readonly passed: boolean;
}

/** Goldens that nothing computes: the input of another one, and the weight that a model is known by. */
const isInput = (key: string) => key === 'rms_norm/input' || key === 'rms_norm/weight' || key.startsWith('weights/');

/**
 * Runs a model on a backend and holds it against what Transformers computes: tables, RMSNorm, every boundary of layer 0 and
 * the output of every layer in prefill and in a decode step, the KV cache of layer 0, and greedy tokens.
 *
 * @throws what opening and running a model throws; a difference is no error, it is in the report
 */
export async function replayGoldens(options: ReplayOptions): Promise<ReplayReport> {
  const { checkpoint, backend, goldens, signal, onProgress } = options;
  const { manifest, directory } = goldens;
  const model = await buildModel(checkpoint.config, {
    tensorNames: checkpoint.tensors.keys(),
    contextLength: manifest.model.contextLength,
  });
  checkTensors(model, checkpoint.tensors.values());
  const plan = planReplay(storedDtypes(checkpoint, model), options.weights);

  const wrongWeights: string[] = [];
  const sources = weightSources(checkpoint, model.weights, plan.weights, (name, sha256) => {
    if (manifest.weights.get(name)?.sha256 !== sha256) wrongWeights.push(name);
  });
  const weights = await backend.loadWeights(model.weights, sources, {
    ...(signal && { signal }),
    onProgress: (progress) => onProgress?.({ phase: 'weights', ...progress }),
  });
  try {
    let comparisons: readonly Comparison[] = [];
    if (plan.comparesTensors) {
      onProgress?.({ phase: 'boundaries' });
      comparisons = await compareAll(goldens, await computeAll(backend, model, weights, goldens, signal));
    }
    const greedy = await replayGreedy(backend, model, weights, manifest, {
      run: plan.run,
      mode: plan.mode,
      prompts: options.prompts,
      maxTokens: options.maxTokens,
      signal,
      onPrompt: (prompt) => onProgress?.({ phase: 'greedy', prompt }),
    });
    const firstMismatch = comparisons.find((comparison) => !comparison.passed) ?? null;
    const tokensAgree = greedy.every(({ mode, firstDifference }) => mode === 'forced' || firstDifference === null);
    return {
      goldens: { id: manifest.model.id, revision: manifest.model.revision, directory },
      backend: backend.info,
      weights: plan.weights,
      run: plan.run,
      wrongWeights,
      comparisons,
      firstMismatch,
      greedy,
      passed: wrongWeights.length === 0 && firstMismatch === null && tokensAgree,
    };
  } finally {
    await weights.dispose();
  }
}

interface ReplayPlan {
  readonly weights: WeightsForm;
  readonly run: GoldenRunName;
  readonly mode: GreedyReport['mode'];
  /** Whether the weights are, to the bit, those that the golden tensors were made with. */
  readonly comparesTensors: boolean;
}

/**
 * What can be compared depends on what the weights are when they are run: the golden tensors and the `float32` tokens belong
 * to float32 weights, the `bfloat16` tokens to rounded ones, and other roundings have no goldens of their own.
 */
export function planReplay(stored: ReadonlySet<WeightDtype>, wanted: WeightsForm | undefined): ReplayPlan {
  const isAll = (dtype: WeightDtype) => stored.size === 1 && stored.has(dtype);
  const weights = wanted ?? (isAll('bf16') ? 'stored' : 'float32');
  if (weights === 'float32' || (weights === 'stored' && isAll('f32'))) {
    return { weights, run: 'float32', mode: 'generated', comparesTensors: true };
  }
  if (weights === 'bfloat16' || isAll('bf16')) {
    return { weights, run: 'bfloat16', mode: 'generated', comparesTensors: false };
  }
  return { weights, run: 'float32', mode: 'forced', comparesTensors: false };
}

function storedDtypes(checkpoint: Checkpoint, model: Model): ReadonlySet<WeightDtype> {
  return new Set(model.weights.map(({ name }) => checkpoint.tensors.get(name)!.dtype as WeightDtype));
}

/** What the backend computes for every tensor of the manifest, by key. */
async function computeAll(
  backend: Backend,
  model: Model,
  weights: Weights,
  goldens: Goldens,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Float32Array>> {
  const { manifest } = goldens;
  const computed = await computeSteps(backend, model, weights, manifest, signal);
  for (const [table, prefix] of manifest.rope?.tables ?? []) {
    throwIfAborted(signal);
    const rope = ropeOf(model, table);
    const { cos, sin } = await computeRopeTables(backend, rope, manifest.rope!.positions);
    computed.set(`${prefix}/inv_freq`, rope.invFreq).set(`${prefix}/cos`, cos).set(`${prefix}/sin`, sin);
  }
  if (manifest.rmsNorm) {
    throwIfAborted(signal);
    const [input, weight] = await Promise.all([goldens.tensor('rms_norm/input'), goldens.tensor('rms_norm/weight')]);
    computed.set('rms_norm/output', await computeRmsNorm(backend, input, weight, manifest.rmsNorm.eps));
  }
  return computed;
}

/** The rotary table of a model by the name of its boundary. */
function ropeOf({ architecture, graph }: Model, table: string): RopeSpec {
  for (const node of graph.nodes) {
    if (node.kind === 'rope-table' && graph.values[node.out]!.name === table) return graph.ropes[node.rope]!;
  }
  throw new InvalidArgumentError(
    `The goldens have a rotary table ${table}, which the definition of ${architecture} has not.`,
    {
      details: { table, architecture },
    },
  );
}

async function compareAll(goldens: Goldens, computed: ReadonlyMap<string, Float32Array>): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const [key, golden] of goldens.manifest.tensors) {
    if (isInput(key)) continue;
    const got = lastRows(computed.get(key)!, golden.shape);
    comparisons.push(compareTensor(key, await goldens.tensor(key), got, golden));
  }
  return comparisons;
}
