import type { LoadWeightsOptions, Model } from '@hearth/engine';
import type { Command } from 'commander';
import { addCacheOptions, type CacheFlags, cacheOptions, dividedCacheOptions } from './cache-options.ts';
import {
  addModelOptions,
  closeModel,
  loadWeights,
  type ModelFlags,
  type OpenedModel,
  type OpenModelOptions,
  openModel,
} from './model-options.ts';
import {
  addSpeculationOptions,
  checkSpeculationFlags,
  type SpeculationFlags,
  speculationOptions,
} from './speculation-options.ts';
import { formatBytes } from './terminal/format.ts';

/** The values of `addAnsweringOptions`. */
export interface AnsweringFlags extends ModelFlags, CacheFlags, SpeculationFlags {}

/** Flags of the commands that answer: which model, how large its cache, who guesses ahead. */
export function addAnsweringOptions(command: Command): Command {
  return addSpeculationOptions(addCacheOptions(addModelOptions(command)));
}

/** A model that is opened, and the smaller one that will guess for it, if one was named. */
export interface OpenedWithDraft extends OpenedModel {
  readonly draft: OpenedModel | undefined;
}

export interface LoadedWithDraft {
  readonly model: Model;
  readonly draft: Model | undefined;
  /** Frees both. */
  dispose(): Promise<void>;
}

/** What a model takes on at a time. None of it changes an answer. */
export type ServingLimits = Pick<
  LoadWeightsOptions,
  'maxSequences' | 'maxQueued' | 'maxTokensPerStep' | 'maxOutputRows'
>;

/** As `openModel`. */
export async function openWithDraft(flags: AnsweringFlags, options: OpenModelOptions): Promise<OpenedWithDraft> {
  checkSpeculationFlags(flags);
  const opened = await openModel(flags, options);
  try {
    return {
      ...opened,
      draft: flags.draftModel === undefined ? undefined : await openDraft(opened, flags, options.signal),
    };
  } catch (error) {
    await closeModel(opened);
    throw error;
  }
}

/**
 * As `loadWeights`. The draft comes first, so that the model can refuse its vocabulary before its own weights are loaded.
 * @param limits how much is done at a time; the draft model has those that count sequences, too
 */
export async function loadWithDraft(
  opened: OpenedWithDraft,
  flags: AnsweringFlags,
  signal: AbortSignal,
  limits: ServingLimits = {},
): Promise<LoadedWithDraft> {
  if (!opened.draft) {
    const options = { ...limits, ...cacheOptions(flags), speculation: speculationOptions(flags, undefined) };
    const model = await loadWeights(opened, flags, signal, options);
    return { model, draft: undefined, dispose: () => model.dispose() };
  }
  const caches = dividedCacheOptions(flags, {
    bytesPerToken: opened.prepared.cacheBytesPerToken(flags.cacheType),
    draftBytesPerToken: opened.draft.prepared.cacheBytesPerToken(flags.cacheType),
    defaultTokens: opened.prepared.info.contextLength,
  });
  const { maxQueued: _, ...stepLimits } = limits;
  const draft = await loadWeights(opened.draft, draftFlags(flags), signal, { ...stepLimits, ...caches.draft });
  try {
    const options = { ...limits, ...caches.model, speculation: speculationOptions(flags, draft) };
    const model = await loadWeights(opened, flags, signal, options);
    const sizes = [model, draft].map(({ info }) => `${info.name} ${formatBytes(info.kvBytes)}`).join(', ');
    opened.reporter.say(`KV cache of ${model.info.cacheTokens} positions in each model: ${sizes}.`);
    return {
      model,
      draft,
      dispose: async () => {
        await model.dispose();
        await draft.dispose();
      },
    };
  } catch (error) {
    await draft.dispose();
    throw error;
  }
}

export async function closeWithDraft(opened: OpenedWithDraft): Promise<void> {
  await opened.draft?.prepared.dispose();
  await closeModel(opened);
}

/** On the backend of the model: two pools of threads would only be in each other's way. */
async function openDraft(
  { backend, prepared, reporter }: OpenedModel,
  flags: AnsweringFlags,
  signal: AbortSignal,
): Promise<OpenedModel> {
  const options = { signal, backend, reporter };
  const draft = await openModel(draftFlags(flags), options);
  const { contextLength, maxContextLength } = draft.prepared.info;
  const wanted = Math.min(prepared.info.contextLength, maxContextLength);
  if (wanted <= contextLength) return draft;
  // What it was made for is known only now.
  await draft.prepared.dispose();
  return openModel({ ...draftFlags(flags), context: wanted }, options);
}

/** `--context` and `--quantize` are about the model; the draft is loaded as it is stored. */
function draftFlags({ context: _, quantize: __, ...flags }: AnsweringFlags): ModelFlags {
  return { ...flags, model: flags.draftModel! };
}
