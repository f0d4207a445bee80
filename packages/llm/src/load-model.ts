import type { Backend, PackedCacheOptions } from '@hearth/core';
import {
  checkLoadModelOptionNames,
  type LoadModelOptions as EngineLoadModelOptions,
  type LoadProgress as EngineLoadProgress,
  loadModel as loadModelFromPath,
  type Model,
} from '@hearth/engine';
import { type HubOptions, type PullProgress, packedCacheOptions, resolveModel } from '@hearth/hub';
import type { CpuBackendOptions } from '@hearth/kernels';
import { createDefaultBackend } from './default-backend.ts';

/** How far loading has come: fetching the files first, when they are not on this machine yet. */
export type LoadProgress = EngineLoadProgress | ({ readonly phase: 'pull' } & { readonly pull: PullProgress });

export interface LoadModelOptions
  extends Omit<EngineLoadModelOptions, 'backend' | 'ownsBackend' | 'onProgress' | 'packedCache'> {
  /** What runs the model. Default: one of its own, see `createDefaultBackend`; it goes when the model is disposed. */
  readonly backend?: Backend | undefined;
  /** Threads and file access of the default backend. */
  readonly backendOptions?: CpuBackendOptions | undefined;
  /** Where models are kept and fetched from. */
  readonly hub?: Omit<HubOptions, 'signal' | 'onProgress'> | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /**
   * Whether packed weights are kept on disk, so that the next start maps them; or where. Default: true, in the directory and
   * up to the size that `packedCacheOptions` of @hearth/hub says (`HEARTH_PACKED_CACHE`).
   */
  readonly packedCache?: boolean | PackedCacheOptions | undefined;
}

/**
 * Loads a model by whatever names it, fetching it first if need be.
 *
 * @param model a catalogue name (`smollm2:135m`), a Hugging Face repository (`org/name`), or a path to a .gguf file or a
 *   directory
 * @throws what `resolveModel` of @hearth/hub and `loadModel` of @hearth/engine throw
 */
export async function loadModel(model: string, options: LoadModelOptions = {}): Promise<Model> {
  const { backend, backendOptions, hub, onProgress, signal, packedCache = true, ...engineOptions } = options;
  // Before anything is fetched.
  checkLoadModelOptionNames(engineOptions);
  const resolved = await resolveModel(model, {
    ...hub,
    ...(signal && { signal }),
    ...(onProgress && { onProgress: (pull) => onProgress({ phase: 'pull', pull }) }),
  });
  const usedBackend = backend ?? (await createDefaultBackend(backendOptions));
  const ownsBackend = backend === undefined;
  try {
    const loaded = await loadModelFromPath(resolved.path, {
      ...engineOptions,
      backend: usedBackend,
      ownsBackend,
      packedCache: packedCache === true ? defaultPackedCache(hub) : packedCache || undefined,
      onProgress,
      signal,
    });
    for (const warning of loaded.warnings) process.emitWarning(warning, { type: 'HearthWarning' });
    return loaded;
  } catch (error) {
    if (ownsBackend) await usedBackend.dispose();
    throw error;
  }
}

function defaultPackedCache(hub: LoadModelOptions['hub']): PackedCacheOptions | undefined {
  const options = packedCacheOptions(hub);
  return options && { ...options, onWarning: (message) => process.emitWarning(message, { type: 'HearthWarning' }) };
}
