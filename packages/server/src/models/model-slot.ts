import { ApiError } from '../http/api-error.ts';
import type { Logger } from '../logger.ts';
import type { LoadedModel, ModelDefinition } from '../server-options.ts';
import { untilAborted } from '../until-aborted.ts';
import { ServedModel } from './served-model.ts';

/** The right to use a model. Give it back when the answer is over: a model without leases may be unloaded. */
export interface ModelLease {
  readonly served: ServedModel;
  /** Safe to call twice. */
  release(): void;
}

export type ModelState = 'unloaded' | 'loading' | 'loaded';

/** What the slots of a server share. */
export interface ModelSlotOptions {
  /** Milliseconds without a lease after which the model is unloaded. */
  readonly idleTimeoutMs: number;
  /** Milliseconds that drafts are kept after their last use. */
  readonly draftTimeoutMs: number | undefined;
  readonly logger: Logger;
  /** Fires when the server is disposed. */
  readonly signal: AbortSignal;
  /** Of all slots. A load waits for them: what is unloaded gives its memory back first. */
  readonly unloading: Set<Promise<void>>;
}

/** One model of the server: loads it when it is first leased, and unloads it when nobody has used it for long enough. */
export class ModelSlot {
  readonly definition: ModelDefinition;
  readonly #options: ModelSlotOptions;
  #numLeases = 0;
  /** The load that runs or has run. What is loaded is reachable as long as this is set, and no longer. */
  #load: Promise<ServedModel> | undefined;
  #served: ServedModel | undefined;
  #loadSeconds: number | undefined;
  #progress: number | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(definition: ModelDefinition, options: ModelSlotOptions) {
    this.definition = definition;
    this.#options = options;
  }

  get state(): ModelState {
    if (this.#served) return 'loaded';
    return this.#load ? 'loading' : 'unloaded';
  }

  /** How much of its load is done, from 0 to 1; undefined where that is not known, and when none runs. */
  get progress(): number | undefined {
    return this.state === 'loading' ? this.#progress : undefined;
  }

  /** What its last load took; undefined before the first. */
  get loadSeconds(): number | undefined {
    return this.#loadSeconds;
  }

  /** Present while it is loaded. */
  get served(): ServedModel | undefined {
    return this.#served;
  }

  /**
   * The model, loaded. Whoever comes while it is loaded waits for the same load, which goes on when they leave.
   * @throws ApiError 500 when it cannot be loaded; the next caller tries again
   * @throws DisposedError once the server is; the reason of `signal` when it fires
   */
  async acquire(signal: AbortSignal | undefined): Promise<ModelLease> {
    this.#options.signal.throwIfAborted();
    signal?.throwIfAborted();
    this.#numLeases++;
    clearTimeout(this.#idleTimer);
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      this.#numLeases--;
      this.#waitForUse();
    };
    try {
      this.#load ??= this.#start();
      return { served: await (signal ? untilAborted(this.#load, signal) : this.#load), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** From now on it is not loaded; the memory is free once the promises in `unloading` have settled. */
  unload(): void {
    clearTimeout(this.#idleTimer);
    const load = this.#load;
    if (!load) return;
    this.#load = undefined;
    this.#served = undefined;
    const { logger, unloading } = this.#options;
    const model = this.definition.name;
    const done = load
      // A load that failed has left nothing.
      .then(
        (served) => served.dispose().then(() => logger.info({ model }, 'model unloaded')),
        () => {},
      )
      .catch((error) => logger.error({ model, err: error }, 'model failed to unload'))
      .finally(() => unloading.delete(done));
    unloading.add(done);
  }

  #start(): Promise<ServedModel> {
    const load = this.#loadModel().then(
      (served) => {
        if (this.#load === load) this.#served = served;
        this.#waitForUse();
        return served;
      },
      (error) => {
        if (this.#load === load) this.#load = undefined;
        throw error;
      },
    );
    return load;
  }

  async #loadModel(): Promise<ServedModel> {
    const { logger, signal, unloading } = this.#options;
    const { name } = this.definition;
    const startedAt = performance.now();
    let loaded: LoadedModel | undefined;
    try {
      await Promise.all(unloading);
      signal.throwIfAborted();
      logger.info({ model: name }, 'loading model');
      this.#progress = undefined;
      const onProgress = (part: number) => {
        this.#progress = Math.min(1, Math.max(0, part));
      };
      loaded = await this.definition.load({ signal, onProgress });
      signal.throwIfAborted();
      const served = new ServedModel(name, loaded, { timeoutMs: this.#options.draftTimeoutMs });
      const milliseconds = performance.now() - startedAt;
      this.#loadSeconds = milliseconds / 1000;
      logger.info({ model: name, milliseconds: Math.round(milliseconds) }, 'model loaded');
      return served;
    } catch (error) {
      await loaded?.dispose().catch((error) => logger.error({ model: name, err: error }, 'model failed to unload'));
      if (signal.aborted) throw signal.reason;
      logger.error({ model: name, err: error }, 'model failed to load');
      throw new ApiError(`The model ${JSON.stringify(name)} could not be loaded. The log of the server says why.`, {
        status: 500,
        code: 'model_load_failed',
        cause: error,
      });
    }
  }

  /** Unloads it after a while, if it is loaded and nobody has a lease. */
  #waitForUse(): void {
    const { idleTimeoutMs, signal } = this.#options;
    clearTimeout(this.#idleTimer);
    if (this.#numLeases > 0 || !this.#served || !Number.isFinite(idleTimeoutMs) || signal.aborted) return;
    this.#idleTimer = setTimeout(() => this.unload(), idleTimeoutMs).unref();
  }
}
