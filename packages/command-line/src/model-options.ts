import type { StorageDtype } from '@hearth/checkpoint';
import type { Backend, CacheDtype, PackedCacheOptions } from '@hearth/core';
import {
  type LoadProgress,
  type LoadWeightsOptions,
  type Model,
  type PreparedModel,
  prepareModel,
} from '@hearth/engine';
import { defaultModelName, packedCacheOptions, type ResolvedModel, resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { createDefaultBackend } from '@hearth/llm';
import { createReferenceBackend } from '@hearth/reference';
import { type Command, Option } from 'commander';
import { type LoadReporter, terminalReporter } from './load-reporter.ts';
import { parseWhole } from './parse-number.ts';
import { pullProgress } from './pull-progress.ts';
import { parseStorageDtype } from './storage-types.ts';

/** The values of `addBackendOptions`, as commander gives them. */
export interface BackendFlags {
  backend: 'auto' | 'cpu' | 'reference';
  threads?: number | undefined;
  fileAccess: 'map' | 'read';
}

/** The values of `addModelOptions`. */
export interface ModelFlags extends BackendFlags {
  model: string;
  context?: number | undefined;
  cacheType: CacheDtype;
  quantize?: StorageDtype | undefined;
  packedCache: boolean;
}

/** Flags that say what computes, and with how much of the machine. */
export function addBackendOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--backend <kind>',
        'what computes: the C++ kernels, the TypeScript reference, or the first that works',
      )
        .choices(['auto', 'cpu', 'reference'])
        .default('auto'),
    )
    .option('--threads <n>', 'threads of the C++ kernels', (text) => parseWhole(text, '--threads', 1))
    .addOption(
      new Option('--file-access <how>', 'map files, or read them in large blocks (faster on network disks)')
        .choices(['map', 'read'])
        .default('map'),
    );
}

/** Flags that say which model to load and how; the same for every command that generates. */
export function addModelOptions(command: Command): Command {
  command.option('-m, --model <model>', 'catalogue name, Hugging Face repository, or path', defaultModelName);
  return addLoadOptions(command);
}

/** The flags of `addModelOptions` for commands whose model is an argument. */
export function addLoadOptions(command: Command): Command {
  command
    .option('--context <n>', 'positions of the context', (text) => parseWhole(text, '--context', 1))
    .addOption(
      new Option('--cache-type <type>', 'type of the KV cache; q8 takes about half the memory of f16')
        .choices(['f16', 'f32', 'q8'] satisfies CacheDtype[])
        .default('f16'),
    )
    .option('--quantize <type>', 'put the weights into this type while they are loaded: q8_0, q4_k ...', (text) =>
      parseStorageDtype(text, '--quantize'),
    )
    .option('--no-packed-cache', 'neither use nor keep packed weights on disk (see hearth cache)');
  return addBackendOptions(command);
}

/** A model that is found, opened and checked, its weights not loaded yet. */
export interface OpenedModel {
  readonly resolved: ResolvedModel;
  readonly backend: Backend;
  readonly prepared: PreparedModel;
  /** Whether the backend is closed with the model. */
  readonly ownsBackend: boolean;
  readonly reporter: LoadReporter;
}

export interface OpenModelOptions {
  readonly signal: AbortSignal;
  /** One that models share. It stays the caller's. Default: one of the model's own. */
  readonly backend?: Backend | undefined;
  /** Default: standard error. */
  readonly reporter?: LoadReporter | undefined;
}

/**
 * Finds the model (downloading it if need be) and opens it.
 * @throws what `resolveModel` and `prepareModel` throw; nothing is left open then
 */
export async function openModel(flags: ModelFlags, options: OpenModelOptions): Promise<OpenedModel> {
  const { signal, backend: sharedBackend, reporter = terminalReporter } = options;
  const progress = pullProgress(reporter);
  const resolved = await resolveModel(flags.model, { signal, ...progress.options }).finally(() => progress.stop());
  const backend = sharedBackend ?? (await openBackend(flags));
  try {
    const { context: contextLength, quantize } = flags;
    const prepared = await prepareModel(resolved.path, { backend, contextLength, quantize, signal });
    for (const warning of prepared.warnings) reporter.warn(warning);
    return { resolved, backend, prepared, ownsBackend: sharedBackend === undefined, reporter };
  } catch (error) {
    if (!sharedBackend) await backend.dispose();
    throw error;
  }
}

export function openBackend(flags: BackendFlags): Promise<Backend> {
  const { threads: numThreads, fileAccess } = flags;
  const options = { fileAccess, ...(numThreads !== undefined && { numThreads }) };
  if (flags.backend === 'reference') return Promise.resolve(createReferenceBackend());
  return flags.backend === 'cpu' ? createCpuBackend(options) : createDefaultBackend(options);
}

/**
 * Loads the weights, with progress where it takes long enough to be seen.
 * @param options besides those that the flags say
 */
export async function loadWeights(
  { prepared, reporter }: OpenedModel,
  flags: ModelFlags,
  signal: AbortSignal,
  options: LoadWeightsOptions = {},
): Promise<Model> {
  // Below this a bar would only flicker. To quantize takes some ten times as long as to load.
  const worthShowing = flags.quantize ? 50_000_000 : 500_000_000;
  const bar = reporter.progress(flags.quantize ? `Loading weights as ${flags.quantize}` : 'Loading weights');
  const onProgress = (progress: LoadProgress) => {
    if (progress.phase === 'weights' && progress.totalBytes > worthShowing) {
      bar.update(progress.doneBytes, progress.totalBytes);
    }
  };
  try {
    const packedCache = flags.packedCache ? keptPackedWeights(reporter) : undefined;
    return await prepared.loadWeights({ cacheDtype: flags.cacheType, packedCache, ...options, signal, onProgress });
  } finally {
    bar.stop();
  }
}

/** Where packed weights are kept, unless the environment says that they are not. */
function keptPackedWeights({ warn }: LoadReporter): PackedCacheOptions | undefined {
  const options = packedCacheOptions();
  return options && { ...options, onWarning: warn };
}

/** Closes what `openModel` opened; a model loaded from it is disposed before. */
export async function closeModel({ prepared, backend, ownsBackend }: OpenedModel): Promise<void> {
  await prepared.dispose();
  if (ownsBackend) await backend.dispose();
}
