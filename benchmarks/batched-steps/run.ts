// How long a step takes by the sequences in it, and by the tokens of a sequence, beside the least that its bytes and
// operations take on this machine.
import { parseArgs } from 'node:util';
import type { OpTiming } from '@hearth/core';
import { leastSeconds, opWork, type RooflineCeilings } from '@hearth/engine';
import { type MachineProbe, openMachineProbe } from '@hearth/kernels';
import { countFrom } from '../arguments.ts';
import { table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import { median } from '../vs-llama-cpp/statistics.ts';
import { loadRawModel, type RawModel } from './raw-model.ts';
import { batchOf, type MeasuredShape, nameOf, parseShape, stepShapeOf } from './step-shape.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'llama-1.1b-q4_0,smollm2-135m-q4_0' },
    steps: { type: 'string', default: '1,2,3,4,6,8,12,16,32,1x2,1x3,1x4,1x5,1x6,1x9' },
    context: { type: 'string', default: '256' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
    /** Times by kind of op. */
    profile: { type: 'boolean', default: false },
  },
});
const shapes = values.steps.split(',').map(parseShape);
const context = countFrom('context', values.context);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);

const mostTokens = Math.max(...shapes.map(({ sequences, tokensEach }) => sequences * tokensEach));
const mostBlocks = Math.max(
  ...shapes.map(({ sequences, tokensEach }) => sequences * Math.ceil((context + tokensEach) / 16)),
);
const probe = await openMachineProbe({ numThreads });
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${context} positions before each step.\n`,
);
for (const name of values.models.split(',')) {
  const { path } = await benchmarkModel(name);
  const contextLength = context + Math.max(...shapes.map(({ tokensEach }) => tokensEach));
  const model = await loadRawModel(path, numThreads, { maxTokens: mostTokens, numBlocks: mostBlocks, contextLength });
  await measure(name, model);
  await model.dispose();
}
await probe.dispose();

interface Taken {
  readonly milliseconds: number[];
  readonly profiles: (readonly OpTiming[])[];
}

/** All shapes in turn, so that a slow minute of the machine is one of all of them. */
async function measure(name: string, model: RawModel): Promise<void> {
  const { executable } = model;
  const places = { blockSize: executable.cache.blockSize, numGroups: executable.program.cacheGroups.length };
  const taken = new Map<MeasuredShape, Taken>(shapes.map((shape) => [shape, { milliseconds: [], profiles: [] }]));
  const ceilings: RooflineCeilings[] = [];
  for (let round = 0; round <= rounds; round++) {
    if (round > 0) ceilings.push(await quickCeilings(probe));
    for (const [shape, { milliseconds, profiles }] of taken) {
      const batch = batchOf(shape, context, places);
      // The first step of a shape finds others' weights in the caches, and wakes the threads.
      await executable.step(batch);
      const begin = performance.now();
      const { profile } = await executable.step(batch, { profile: values.profile });
      if (round === 0) continue;
      milliseconds.push(performance.now() - begin);
      if (profile) profiles.push(profile);
    }
  }
  print(name, model, taken, ceilings);
}

function print(
  name: string,
  model: RawModel,
  taken: ReadonlyMap<MeasuredShape, Taken>,
  all: readonly RooflineCeilings[],
): void {
  const ceilings: RooflineCeilings = {
    memoryBytes: median(all.map((each) => each.memoryBytes)),
    cacheBytes: median(all.map((each) => each.cacheBytes)),
    integerOps: median(all.map((each) => each.integerOps)),
    floatOps: median(all.map((each) => each.floatOps)),
  };
  const units = Object.entries(ceilings).map(([key, rate]) => `${key} ${(rate / 1e9).toFixed(1)}`);
  console.log(`${name}, ${model.variant}; ceilings in 1e9/s: ${units.join(', ')}\n`);
  const kinds = [...new Set(model.executable.program.ops.map(({ kind }) => kind))];
  const single = taken.get(shapes[0]!)!;
  const rows = [...taken].map(([shape, { milliseconds, profiles }]) => {
    const numTokens = shape.sequences * shape.tokensEach;
    const least = leastMs(model, shape, ceilings);
    const ms = median(milliseconds);
    const best = Math.min(...milliseconds);
    return [
      nameOf(shape),
      ...[ms.toFixed(2), best.toFixed(2), ((1000 * numTokens) / ms).toFixed(0)],
      ((numTokens * median(single.milliseconds)) / (shapes[0]!.sequences * shapes[0]!.tokensEach) / ms).toFixed(2),
      ...[least.toFixed(2), `${((100 * least) / best).toFixed(0)}%`],
      ...(values.profile ? kinds.map((kind) => bestOfKind(model, profiles, kind).toFixed(2)) : []),
    ];
  });
  const columns = [
    'Step',
    'ms',
    'best',
    'tokens/s',
    'x first',
    'least ms',
    'least / best',
    ...(values.profile ? kinds : []),
  ];
  console.log(`${table(columns, rows)}\n`);
}

/** The sum over all ops of the least that each takes. */
function leastMs({ executable, types }: RawModel, shape: MeasuredShape, ceilings: RooflineCeilings): number {
  const { program } = executable;
  const step = stepShapeOf(shape, context);
  return program.ops.reduce((sum, op) => {
    const { bytes, ops } = leastSeconds(opWork(op, program, types, step), ceilings);
    return sum + 1000 * Math.max(bytes, ops);
  }, 0);
}

/** Milliseconds of the ops of a kind in the round that was best. */
function bestOfKind({ executable }: RawModel, profiles: readonly (readonly OpTiming[])[], kind: string): number {
  const { ops } = executable.program;
  const sums = profiles.map((profile) =>
    profile.reduce((sum, { op, nanoseconds }) => sum + (ops[op]!.kind === kind ? nanoseconds / 1e6 : 0), 0),
  );
  return Math.min(...sums);
}

async function quickCeilings(machine: MachineProbe): Promise<RooflineCeilings> {
  const rate = async (ceiling: Parameters<MachineProbe['measure']>[0]) =>
    (await machine.measure(ceiling, { numRuns: 3 }))!.best;
  return {
    memoryBytes: await rate('memory-read'),
    cacheBytes: await rate('l2-read'),
    integerOps: await rate('integer'),
    floatOps: await rate('fma'),
  };
}
