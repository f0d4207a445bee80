import { DisposedError, InvalidArgumentError } from '@hearth/core';
import { ApiError } from '../http/api-error.ts';
import type { Logger } from '../logger.ts';
import type { ModelDefinition } from '../server-options.ts';
import { ServedModel } from './served-model.ts';

export interface ModelManagerOptions {
  readonly models: readonly ModelDefinition[];
  /** Milliseconds without a lease after which a model is unloaded. */
  readonly idleTimeoutMs: number;
  readonly logger: Logger;
}

/** The right to use a model. Give it back when the answer is over: a model without leases may be unloaded. */
export interface ModelLease {
  readonly served: ServedModel;
  /** Safe to call twice. */
  release(): void;
}

export type ModelState = 'unloaded' | 'loading' | 'loaded';

/** A model that can be asked for, as it is at this moment. */
export interface ListedModel {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly state: ModelState;
  /** What its last load took; undefined before the first. */
  readonly loadSeconds: number | undefined;
}

interface Slot {
  readonly definition: ModelDefinition;
  state: ModelState;
  loadSeconds: number | undefined;
  numLeases: number;
  /** The load that runs or has run. */
  load: Promise<ServedModel> | undefined;
  /** Present once it is loaded. */
  served: ServedModel | undefined;
  idleTimer: NodeJS.Timeout | undefined;
}

/** The models by name: loads each when it is first asked for, and unloads those that nobody uses. */
export class ModelManager {
  readonly #slots: readonly Slot[];
  readonly #byName = new Map<string, Slot>();
  readonly #options: ModelManagerOptions;
  readonly #controller = new AbortController();
  readonly #unloading = new Set<Promise<void>>();

  /** @throws InvalidArgumentError without models, or when two have the same name */
  constructor(options: ModelManagerOptions) {
    this.#options = options;
    if (options.models.length === 0) throw new InvalidArgumentError('A server needs at least one model.');
    this.#slots = options.models.map((definition) => ({
      definition,
      state: 'unloaded',
      loadSeconds: undefined,
      numLeases: 0,
      load: undefined,
      served: undefined,
      idleTimer: undefined,
    }));
    for (const slot of this.#slots) {
      for (const name of [slot.definition.name, ...(slot.definition.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new InvalidArgumentError(`Two models are called ${JSON.stringify(name)}.`);
        this.#byName.set(name, slot);
      }
    }
  }

  /** Every model once, with its other names. */
  list(): readonly ListedModel[] {
    return this.#slots.map(({ definition, state, loadSeconds }) => ({
      name: definition.name,
      aliases: definition.aliases ?? [],
      state,
      loadSeconds,
    }));
  }

  /** Those that are loaded, for metrics. */
  loaded(): readonly ServedModel[] {
    return this.#slots.flatMap(({ served }) => served ?? []);
  }

  /**
   * The model of this name or alias, loaded. Without a name it is the first.
   * @throws ApiError 404 for an unknown name, 500 when it cannot be loaded, 499 when the signal fires
   */
  async acquire(name: string | undefined, signal?: AbortSignal): Promise<ModelLease> {
    const slot = name === undefined ? this.#slots[0]! : this.#byName.get(name);
    if (!slot) throw unknownModel(name!);
    this.#hold(slot);
    try {
      slot.load ??= this.#load(slot);
      const served = await untilAborted(slot.load, signal);
      let isReleased = false;
      const release = () => {
        if (isReleased) return;
        isReleased = true;
        this.#release(slot);
      };
      return { served, release };
    } catch (error) {
      this.#release(slot);
      throw error;
    }
  }

  /** Unloads all. Loads that run are stopped. */
  async dispose(): Promise<void> {
    this.#controller.abort(new DisposedError('server'));
    for (const slot of this.#slots) {
      clearTimeout(slot.idleTimer);
      this.#unload(slot);
    }
    await Promise.all(this.#unloading);
  }

  #hold(slot: Slot): void {
    this.#controller.signal.throwIfAborted();
    slot.numLeases++;
    clearTimeout(slot.idleTimer);
  }

  #release(slot: Slot): void {
    slot.numLeases--;
    const { idleTimeoutMs } = this.#options;
    if (slot.numLeases > 0 || !Number.isFinite(idleTimeoutMs) || this.#controller.signal.aborted) return;
    slot.idleTimer = setTimeout(() => this.#unload(slot), idleTimeoutMs).unref();
  }

  async #load(slot: Slot): Promise<ServedModel> {
    const { name } = slot.definition;
    const { logger } = this.#options;
    const { signal } = this.#controller;
    slot.state = 'loading';
    logger.info({ model: name }, 'loading model');
    const startedAt = performance.now();
    try {
      // An unloaded one gives its memory back first.
      await Promise.all(this.#unloading);
      const served = new ServedModel(name, await slot.definition.load({ signal }));
      slot.served = served;
      slot.state = 'loaded';
      slot.loadSeconds = (performance.now() - startedAt) / 1000;
      logger.info({ model: name, milliseconds: Math.round(slot.loadSeconds * 1000) }, 'model loaded');
      return served;
    } catch (error) {
      slot.load = undefined;
      slot.state = 'unloaded';
      if (signal.aborted) throw signal.reason;
      logger.error({ model: name, err: error }, 'model failed to load');
      throw new ApiError(`The model ${JSON.stringify(name)} could not be loaded. The log of the server says why.`, {
        status: 500,
        code: 'model_load_failed',
        cause: error,
      });
    }
  }

  #unload(slot: Slot): void {
    const { load } = slot;
    if (!load) return;
    slot.load = undefined;
    slot.served = undefined;
    slot.state = 'unloaded';
    const unloading = load
      .then((served) => served.dispose())
      .then(
        () => this.#options.logger.info({ model: slot.definition.name }, 'model unloaded'),
        () => {},
      )
      .finally(() => this.#unloading.delete(unloading));
    this.#unloading.add(unloading);
  }
}

function unknownModel(name: string): ApiError {
  return new ApiError(
    `There is no model ${JSON.stringify(name.slice(0, 200))} here. GET /v1/models lists those that are.`,
    {
      status: 404,
      type: 'not_found_error',
      param: 'model',
      code: 'model_not_found',
    },
  );
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(new ApiError('The request was cancelled.', { status: 499, cause: signal.reason }));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
