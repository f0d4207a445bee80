import type { PrefillResult } from '@hearth/engine';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ModelManager } from '../models/model-manager.ts';
import { registerModelMetrics } from './model-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import type { RequestUsage } from './prompt-watch.ts';

const requestBuckets = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const firstTokenBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const gapBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** A request that is over, for the counters. */
export interface EndedRequest {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  readonly model: string | undefined;
  readonly usage: RequestUsage | undefined;
  /** From the arrival of the request. */
  readonly firstTokenSeconds: number | undefined;
}

/** What Prometheus reads of one server: names begin with `hearth_`, units are seconds, bytes and tokens. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'hearth_requests_total',
    help: 'Requests that are over. A stream counts with the status that its end would have had; 499 is a client that went away.',
    labelNames: ['route', 'method', 'status'],
    registers: [this.#registry],
  });
  readonly #requestSeconds = new Histogram({
    name: 'hearth_request_seconds',
    help: 'Time of requests from their arrival to the end of their answer.',
    labelNames: ['route'],
    buckets: requestBuckets,
    registers: [this.#registry],
  });
  readonly #underWay = new Gauge({
    name: 'hearth_requests_under_way',
    help: 'Requests that have come and are not over.',
    registers: [this.#registry],
  });
  readonly #tokens = {
    promptTokens: this.#tokenCounter(
      'prompt',
      'Tokens of prompts, as usage reports them, counted at the end of a request.',
    ),
    cachedTokens: this.#tokenCounter('cached', 'Tokens of prompts that did not have to be computed.'),
    completionTokens: this.#tokenCounter(
      'completion',
      'Tokens that were made, also for requests that were broken off.',
    ),
  };
  readonly #firstToken = new Histogram({
    name: 'hearth_time_to_first_token_seconds',
    help: 'Time from the arrival of a request to its first token.',
    labelNames: ['model'],
    buckets: firstTokenBuckets,
    registers: [this.#registry],
  });
  readonly #gaps = new Histogram({
    name: 'hearth_time_between_tokens_seconds',
    help: 'Time between two tokens of a text, as they are handed on.',
    labelNames: ['model'],
    buckets: gapBuckets,
    registers: [this.#registry],
  });

  readonly #composed = new Counter({
    name: 'hearth_compose_total',
    help: 'Drafts of messages: done, or superseded by something newer of the same conversation.',
    labelNames: ['model', 'outcome'],
    registers: [this.#registry],
  });
  readonly #composedTokens = this.#tokenCounter('composed', 'Tokens that were computed for drafts of messages.');

  constructor(models: ModelManager) {
    registerModelMetrics(this.#registry, models);
    processMetrics();
  }

  requestBegan(): void {
    this.#underWay.inc();
  }

  requestEnded({ route, method, status, seconds, model, usage, firstTokenSeconds }: EndedRequest): void {
    this.#underWay.dec();
    this.#requests.inc({ route, method, status });
    this.#requestSeconds.observe({ route }, seconds);
    if (model === undefined) return;
    if (firstTokenSeconds !== undefined) this.#firstToken.observe({ model }, firstTokenSeconds);
    if (!usage) return;
    for (const [name, counter] of Object.entries(this.#tokens)) {
      counter.inc({ model }, usage[name as keyof RequestUsage]);
    }
  }

  /** @param done undefined when it was superseded */
  composed(model: string, done: PrefillResult | undefined): void {
    this.#composed.inc({ model, outcome: done ? 'done' : 'superseded' });
    this.#composedTokens.inc({ model }, done?.computedTokens ?? 0);
  }

  /** Takes the times between tokens of one model, in seconds. Prepared once, as it is called for every token. */
  gapsOf(model: string): (seconds: number) => void {
    const bound = this.#gaps.labels({ model });
    return (seconds) => bound.observe(seconds);
  }

  /** In the text format of Prometheus, with the metrics of the process. */
  async text(): Promise<string> {
    return Registry.merge([this.#registry, processMetrics()]).metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #tokenCounter(kind: string, help: string): Counter<'model'> {
    return new Counter({
      name: `hearth_${kind}_tokens_total`,
      help,
      labelNames: ['model'],
      registers: [this.#registry],
    });
  }
}
