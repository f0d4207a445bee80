import { closeWithDraft, type LoadReporter, loadWithDraft, openWithDraft } from '@hearth/command-line';
import type { Backend } from '@hearth/core';
import type { LoadedModel } from '@hearth/server';
import type { Settings } from '../settings/settings.ts';
import type { FoundModel } from './find-models.ts';

export interface LoadFoundModelOptions {
  /** Shared by all models, with its threads. */
  readonly backend: Backend;
  readonly machine: Pick<Settings, 'backend' | 'fileAccess'>;
  readonly reporter: LoadReporter;
  readonly signal: AbortSignal;
}

const defaultMaxQueued = 64;
/** Many requests share the cache, so that it holds more than the one context of the engine's default. */
const defaultCacheTokens = 16_384;
const mostDefaultContexts = 4;
/** Those of the engine, which a step of more sequences has to exceed. */
const defaultMaxTokensPerStep = 256;
const defaultMaxOutputRows = 64;

/** Loads a model, and the smaller one that guesses for it, if there is one. */
export async function loadFoundModel({ settings }: FoundModel, options: LoadFoundModelOptions): Promise<LoadedModel> {
  const { backend, machine, reporter, signal } = options;
  const { source, cacheType = 'f16', prefixCache = true, ...rest } = settings;
  const flags = { ...rest, ...machine, model: source, cacheType, prefixCache, packedCache: true };
  const opened = await openWithDraft(flags, { backend, reporter, signal });
  try {
    const { contextLength } = opened.prepared.info;
    const cacheFlags = { ...flags, ...defaultCache(settings, contextLength) };
    const loaded = await loadWithDraft(opened, cacheFlags, signal, limitsOf(settings));
    return {
      model: loaded.model,
      dispose: async () => {
        await loaded.dispose();
        await closeWithDraft(opened);
      },
    };
  } catch (error) {
    await closeWithDraft(opened);
    throw error;
  }
}

function defaultCache({ cacheMemory, cacheTokens }: FoundModel['settings'], contextLength: number) {
  if (cacheMemory !== undefined || cacheTokens !== undefined) return {};
  return { cacheTokens: Math.max(contextLength, Math.min(mostDefaultContexts * contextLength, defaultCacheTokens)) };
}

function limitsOf({ maxSequences, maxQueued = defaultMaxQueued }: FoundModel['settings']) {
  if (maxSequences === undefined) return { maxQueued };
  return {
    maxQueued,
    maxSequences,
    maxTokensPerStep: Math.max(maxSequences, defaultMaxTokensPerStep),
    maxOutputRows: Math.max(maxSequences, defaultMaxOutputRows),
  };
}
