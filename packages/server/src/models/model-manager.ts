import { DisposedError, InvalidArgumentError } from '@hearth/core';
import { ApiError } from '../http/api-error.ts';
import type { Logger } from '../logger.ts';
import type { ModelDefinition } from '../server-options.ts';
import { type ModelLease, ModelSlot, type ModelState } from './model-slot.ts';
import type { ServedModel } from './served-model.ts';

export interface ModelManagerOptions {
  readonly models: readonly ModelDefinition[];
  /** Milliseconds without a lease after which a model is unloaded. */
  readonly idleTimeoutMs: number;
  /** Milliseconds that drafts are kept after their last use. */
  readonly draftTimeoutMs?: number;
  readonly logger: Logger;
}

/** A model that can be asked for, as it is at this moment. */
export interface ListedModel {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly state: ModelState;
  /** How much of its load is done, from 0 to 1; undefined where that is not known, and when none runs. */
  readonly progress: number | undefined;
  /** What its last load took; undefined before the first. */
  readonly loadSeconds: number | undefined;
}

/** The models by name: loads each when it is first asked for, and unloads those that nobody uses. */
export class ModelManager {
  readonly #slots: readonly ModelSlot[];
  readonly #byName = new Map<string, ModelSlot>();
  readonly #controller = new AbortController();
  readonly #unloading = new Set<Promise<void>>();

  /** @throws InvalidArgumentError without models, and for names that are empty or not the model's alone */
  constructor({ models, idleTimeoutMs, draftTimeoutMs, logger }: ModelManagerOptions) {
    if (models.length === 0) throw new InvalidArgumentError('A server needs at least one model.');
    const { signal } = this.#controller;
    const shared = { idleTimeoutMs, draftTimeoutMs, logger, signal, unloading: this.#unloading };
    this.#slots = models.map((definition) => new ModelSlot(definition, shared));
    for (const slot of this.#slots) {
      for (const name of [slot.definition.name, ...(slot.definition.aliases ?? [])]) {
        if (name === '') throw new InvalidArgumentError('A model needs a name of at least one character.');
        if (this.#byName.has(name)) throw new InvalidArgumentError(`Two models are called ${JSON.stringify(name)}.`);
        this.#byName.set(name, slot);
      }
    }
  }

  /** Every model once, with its other names. */
  list(): readonly ListedModel[] {
    return this.#slots.map(listed);
  }

  /**
   * What there is of this name or alias.
   * @throws ApiError 404 for an unknown name
   */
  describe(name: string): ListedModel {
    return listed(this.#slot(name));
  }

  /** Those that are loaded, for metrics. */
  loaded(): readonly ServedModel[] {
    return this.#slots.flatMap(({ served }) => served ?? []);
  }

  /**
   * The model of this name or alias, loaded. Without a name it is the first.
   * @throws ApiError 404 for an unknown name, 500 when it cannot be loaded
   * @throws DisposedError once the server is; the reason of `signal` when it fires
   */
  async acquire(name: string | undefined, signal?: AbortSignal): Promise<ModelLease> {
    return this.#slot(name).acquire(signal);
  }

  /** Unloads all. Loads that run are stopped. */
  async dispose(): Promise<void> {
    this.#controller.abort(new DisposedError('server'));
    for (const slot of this.#slots) slot.unload();
    await Promise.all(this.#unloading);
  }

  #slot(name: string | undefined): ModelSlot {
    if (name === undefined) return this.#slots[0]!;
    const slot = this.#byName.get(name);
    if (!slot) throw unknownModel(name);
    return slot;
  }
}

function listed({ definition, state, progress, loadSeconds }: ModelSlot): ListedModel {
  return { name: definition.name, aliases: definition.aliases ?? [], state, progress, loadSeconds };
}

function unknownModel(name: string): ApiError {
  const shown = JSON.stringify(name.slice(0, 200));
  return new ApiError(`There is no model ${shown} here. GET /v1/models lists those that are.`, {
    status: 404,
    type: 'not_found_error',
    param: 'model',
    code: 'model_not_found',
  });
}
