import type { ModelStats } from '@hearth/engine';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ModelManager } from '../models/model-manager.ts';
import type { ModelState } from '../models/model-slot.ts';

/** A number that a model keeps itself, and that is read when somebody asks. */
interface ModelMetric {
  readonly name: string;
  readonly help: string;
  /** Counters only grow while a model is loaded, and begin again when it is loaded again. */
  readonly kind: 'gauge' | 'counter';
  /** The label that tells several values apart, besides `model`. */
  readonly label?: string;
  /** One number, or one for each value of the label. */
  readonly read: (stats: ModelStats) => number | Readonly<Record<string, number>>;
}

const modelMetrics: readonly ModelMetric[] = [
  {
    name: 'hearth_queue_length',
    help: 'Texts and prompts that wait for their turn.',
    kind: 'gauge',
    read: ({ requests }) => requests.numWaiting,
  },
  {
    name: 'hearth_running',
    help: 'Texts and prompts that are in the batch.',
    kind: 'gauge',
    read: ({ requests }) => requests.numRunning,
  },
  {
    name: 'hearth_preemptions_total',
    help: 'Times that a running text had to give its room to another one, and went back to the queue.',
    kind: 'counter',
    read: ({ requests }) => requests.numPreemptions,
  },
  {
    name: 'hearth_kv_blocks',
    help: 'Blocks of the KV cache: free, cached (used by nobody, kept for prompts that begin alike), owned (in use).',
    kind: 'gauge',
    label: 'state',
    read: ({ cache }) => ({ free: cache.numFreeBlocks, cached: cache.numCachedBlocks, owned: cache.numOwnedBlocks }),
  },
  {
    name: 'hearth_kv_cache_bytes',
    help: 'Size of the KV cache.',
    kind: 'gauge',
    read: ({ cache }) => cache.numBytes,
  },
  {
    name: 'hearth_kv_evictions_total',
    help: 'Cached blocks that gave way to others.',
    kind: 'counter',
    read: ({ prefixes }) => prefixes.numEvictedBlocks,
  },
  {
    name: 'hearth_prefix_hit_tokens_total',
    help: 'Tokens that did not have to be computed because another request had.',
    kind: 'counter',
    read: ({ prefixes }) => prefixes.hitTokens,
  },
  {
    name: 'hearth_steps_total',
    help: 'Steps of the model.',
    kind: 'counter',
    read: ({ steps }) => steps.numSteps,
  },
  {
    name: 'hearth_step_seconds_total',
    help: 'Time of steps by phase: plan (choosing and laying out, mostly while another step runs), run (in the backend), deliver (text and events).',
    kind: 'counter',
    label: 'phase',
    read: ({ steps }) => ({ plan: steps.planMs / 1000, run: steps.runMs / 1000, deliver: steps.deliverMs / 1000 }),
  },
  {
    name: 'hearth_step_tokens_total',
    help: 'Tokens of steps: decode (the next of a text), prefill (of prompts), speculative (guesses that were verified).',
    kind: 'counter',
    label: 'kind',
    read: ({ steps }) => ({
      decode: steps.decodeTokens,
      prefill: steps.prefillTokens,
      speculative: steps.speculativeTokens,
    }),
  },
  {
    name: 'hearth_speculation_tokens_total',
    help: 'Tokens that were guessed, in texts that have ended: proposed, and of these accepted.',
    kind: 'counter',
    label: 'outcome',
    read: ({ speculation }) => ({ proposed: speculation.proposedTokens, accepted: speculation.acceptedTokens }),
  },
];

/** Adds what the models themselves know. They are asked when the metrics are read, so that nothing ticks in between. */
export function registerModelMetrics(registry: Registry, models: ModelManager): void {
  for (const { name, help, kind, label, read } of modelMetrics) {
    addMetric(registry, { name, help, kind, labels: label ? ['model', label] : ['model'] }, () =>
      models.loaded().flatMap(({ name: model, model: loaded }) => {
        const value = read(loaded.stats());
        if (typeof value === 'number') return [{ labels: { model }, value }];
        return Object.entries(value).map(([key, value]) => ({ labels: { model, [label!]: key }, value }));
      }),
    );
  }
  addMetric(
    registry,
    {
      name: 'hearth_drafts',
      help: 'Messages that are being written, and of which what was computed is kept.',
      kind: 'gauge',
      labels: ['model'],
    },
    () => models.loaded().map(({ name: model, drafts }) => ({ labels: { model }, value: drafts.size })),
  );
  addMetric(
    registry,
    {
      name: 'hearth_model_state',
      help: '1 for the state that a model is in.',
      kind: 'gauge',
      labels: ['model', 'state'],
    },
    () =>
      models
        .list()
        .flatMap(({ name: model, state: current }) =>
          modelStates.map((state) => ({ labels: { model, state }, value: Number(state === current) })),
        ),
  );
  addMetric(
    registry,
    { name: 'hearth_model_load_seconds', help: 'What the last load took.', kind: 'gauge', labels: ['model'] },
    () =>
      models
        .list()
        .flatMap(({ name: model, loadSeconds }) =>
          loadSeconds === undefined ? [] : [{ labels: { model }, value: loadSeconds }],
        ),
  );
}

const modelStates: readonly ModelState[] = ['unloaded', 'loading', 'loaded'];

interface MetricDescription {
  readonly name: string;
  readonly help: string;
  readonly kind: 'gauge' | 'counter';
  readonly labels: readonly string[];
}

/** A metric whose values are read anew each time: what a model that was unloaded said is gone. */
function addMetric(
  registry: Registry,
  { kind, labels, ...names }: MetricDescription,
  read: () => { readonly labels: Record<string, string>; readonly value: number }[],
): void {
  const config = { ...names, labelNames: labels, registers: [registry] };
  if (kind === 'gauge') {
    const gauge: Gauge = new Gauge({
      ...config,
      collect() {
        gauge.reset();
        for (const { labels, value } of read()) gauge.set(labels, value);
      },
    });
  } else {
    const counter: Counter = new Counter({
      ...config,
      collect() {
        counter.reset();
        for (const { labels, value } of read()) counter.inc(labels, value);
      },
    });
  }
}
